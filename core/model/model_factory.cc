#include <medley/model/model_factory.h>

#include <medley/model/agent/agent.h>

namespace medley {

std::unique_ptr<Model> MakeModel(const std::filesystem::path& config, const Tokenizer& tokenizer,
                                 std::uint64_t seed, at::Device device) {
  return std::make_unique<Agent>(ReadAgentConfig(config), tokenizer, seed, device);
}

ImageGeometry ReadImageGeometry(const std::filesystem::path& config) {
  const AgentConfig::Image image = ReadAgentConfig(config).image;
  return {.size = image.size, .patch = image.patch};
}

}  // namespace medley
