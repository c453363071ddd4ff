#include <medley/train/profile_key.h>

#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/ScalarType.h>

#include <medley/base/version.h>
#include <medley/train/file_digest.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// "agent-tiny.json (0f3c...)"; "" where the run was made without files.
std::string NamedSum(const std::filesystem::path& file) {
  if (file.empty()) return "";
  return file.filename().string() + " (" + HashFile(file).substr(0, 12) + ")";
}

std::string DeviceWords(at::Device device) {
  if (device.is_cpu()) return "cpu";
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return device.str() + " of " + std::to_string(total) + " bytes";
}

// Shapes and which of them are trained.
std::string ParametersSum(const Model& model) {
  std::string text;
  for (const Parameter& parameter : model.parameters())
    text += parameter.name + c10::str(parameter.tensor.sizes()) +
            (parameter.tensor.requires_grad() ? "t" : "f") + c10::toString(parameter.tensor.scalar_type());
  return HashText(text).substr(0, 12);
}

}  // namespace

ordered_json RunProfileKey(const Run& run) {
  return {{"model", NamedSum(run.config.model)},
          {"parameters", ParametersSum(*run.model)},
          {"tokenizer", run.tokenizer ? run.tokenizer->hash() : NamedSum(run.config.tokenizer)},
          {"control_text", NamedSum(run.config.control_text)},
          {"dtype", c10::toString(FloatTypeOf(*run.model))},
          {"medley", std::string(Version()) + " " + std::string(GitRevision())},
          {"libtorch", std::string(Torch().build)},
          {"device", DeviceWords(run.device)},
          {"threads", at::get_num_threads()}};
}

ordered_json TaskProfileKey(const Run& run, const std::string& task) {
  const auto found = run.config.tasks.find(task);
  const TaskConfig config = found == run.config.tasks.end() ? TaskConfig() : found->second;
  ordered_json key = {{"variant", config.variant}, {"options", config.options}, {"terms", config.terms}};
  if (run.registry == nullptr) return key;
  key["version"] = run.registry->Require(task).version;
  key["plugin"] = run.registry->FileOf(task).build_id;
  return key;
}

}  // namespace medley
