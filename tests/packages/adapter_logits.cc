// Adapters beside PEFT: writes some with the logits that medley gives with them, or compares the logits that
// PEFT gave with medley's.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/adapters.h>
#include <medley/model/blocks/language.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/peft_weights.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_weights.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPositions = 64;
constexpr double kLimit = 1e-4;  // of one logit, in fp32

// The language of a Hugging Face folder, with adapters.
class Adapted {
 public:
  Adapted(const fs::path& base, const LoraConfig& lora)
      : adapters_(AdaptersOf(lora, nullptr)),
        config_(ReadPretrainedConfig(base).language),
        set_(1, at::kCPU, {}, nullptr, adapters_),
        language_(set_, config_, config_.vocabulary, kPositions) {
    PretrainedWeights({.directory = base, .root = "", .rows = config_.vocabulary}, set_.list())
        .Fill(set_.list(), {.count = config_.vocabulary});
  }

  const Adapters& adapters() const { return adapters_; }
  const std::vector<Parameter>& parameters() const { return set_.list(); }
  std::int64_t vocabulary() const { return config_.vocabulary; }

  // [rows, width, vocabulary]; 0 behind a row's end.
  at::Tensor Logits(const at::Tensor& tokens, const at::Tensor& lengths) const {
    const at::NoGradGuard no_grad;
    ForwardContext context;
    const at::Tensor logits = language_.Logits(language_.Hidden(language_.Embed(tokens), {}, context));
    const at::Tensor inside = at::arange(tokens.size(1)).unsqueeze(0).lt(lengths.unsqueeze(1));
    return logits * inside.unsqueeze(-1);
  }

  void Randomize() const {
    const at::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(5);
    for (const Parameter& parameter : parameters()) {
      if (!IsAdapter(parameter.name)) continue;
      const double width = static_cast<double>(parameter.tensor.size(1));
      at::Tensor(parameter.tensor.detach()).normal_(0, 0.5 / std::sqrt(width), generator);
    }
  }

 private:
  Adapters adapters_;
  LanguageConfig config_;
  ParameterSet set_;
  Language language_;
};

void WriteTensors(const fs::path& path, const std::vector<Parameter>& tensors) {
  std::ofstream file(path, std::ios::binary);
  WriteSafetensors(tensors, {}, [&](const void* data, std::size_t size) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  });
}

void Write(const fs::path& base, const fs::path& folder, const LoraConfig& lora) {
  const Adapted adapted(base, lora);
  adapted.Randomize();
  fs::create_directories(folder);
  WritePeft(folder, adapted.parameters(), adapted.adapters(), "", base.string());
  const at::Generator generator = at::detail::createCPUGenerator(6);
  at::Tensor tokens = at::randint(adapted.vocabulary(), {3, 12}, generator, at::kLong);
  const at::Tensor lengths = at::tensor({12, 6, 1}, at::kLong);
  for (std::size_t i = 0; i < lora.tokens.size() && i < 11; ++i)
    tokens[0][static_cast<std::int64_t>(i)].fill_(lora.tokens[i]);
  WriteTensors(folder / "expect.safetensors",
               {{"tokens", tokens}, {"lengths", lengths}, {"logits", adapted.Logits(tokens, lengths)}});
}

void Compare(const fs::path& base, const fs::path& folder) {
  const LoraConfig lora = ReadPeftConfig(folder).lora;
  const Adapted adapted(base, lora);
  PeftWeights(folder, "", adapted.adapters(), adapted.parameters()).Fill(adapted.parameters());
  const auto expected = ReadSafetensors(folder / "expect.safetensors");
  const at::Tensor& tokens = expected.at("tokens");
  const auto apart = [&] {
    return (adapted.Logits(tokens, expected.at("lengths")) - expected.at("logits"))
        .abs()
        .max()
        .item<double>();
  };
  const double beside = apart();
  MergeAdapters(adapted.parameters(), adapted.adapters());
  const double merged = apart();
  std::printf("%s: rank %lld; largest difference of a logit %.2e, merged %.2e (limit %.0e)\n", folder.c_str(),
              static_cast<long long>(lora.rank), beside, merged, kLimit);
  if (!(beside <= kLimit) || !(merged <= kLimit))
    throw Error("PEFT gives other logits with " + folder.string());
}

int Main(int argc, char** argv) {
  CLI::App app("Adapters of medley's beside PEFT's");
  fs::path base, folder;
  LoraConfig lora{.rank = 4, .alpha = 8};
  bool compare = false;
  app.add_option("BASE", base, "a Hugging Face folder")->required();
  app.add_option("ADAPTER", folder, "a folder of PEFT's; written, but with --compare")->required();
  app.add_flag("--compare", compare, "with its expect.safetensors");
  app.add_option("--rank", lora.rank);
  app.add_option("--alpha", lora.alpha);
  app.add_flag("--rslora", lora.rslora);
  app.add_option("--targets", lora.targets.names)->delimiter(',');
  app.add_option("--pattern", lora.targets.pattern);
  app.add_option("--tokens", lora.tokens)->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  compare ? Compare(base, folder) : Write(base, folder, lora);
  return 0;
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    return medley::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "adapter_logits: %s\n", error.what());
    return 1;
  }
}
