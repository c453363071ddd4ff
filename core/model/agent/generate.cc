#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/agent/agent.h>

namespace medley {
namespace {

// Keeps every encoding for as long as the generation lasts.
class CachingContext : public ForwardContext {
 public:
  at::Tensor Shared(const std::string& key, const Fn& fn) override {
    at::Tensor& value = cache_[key];
    if (!value.defined()) value = fn();
    return value;
  }

 private:
  std::map<std::string, at::Tensor> cache_;
};

// A token for each row from its logits [rows, vocabulary], on the CPU.
std::vector<std::int64_t> Choose(const at::Tensor& logits, const GenerateOptions& options,
                                 std::int64_t step) {
  const at::Tensor best = logits.argmax(-1).to(at::kCPU);
  const std::int64_t* greedy = best.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> chosen(greedy, greedy + best.numel());
  if (options.temperature <= 0) return chosen;
  const at::Tensor wide = logits.to(at::kCPU, at::kDouble) / options.temperature;
  const at::Tensor sums = at::cumsum(at::softmax(wide, -1), -1);
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    RowRandom random(CombineSeeds(CombineSeeds(options.seed, row), static_cast<std::uint64_t>(step)));
    const at::Tensor line = sums.select(0, static_cast<std::int64_t>(row));
    const double* first = line.const_data_ptr<double>();
    const double* last = first + line.numel();
    const double* found = std::upper_bound(first, last, random.Uniform() * last[-1]);
    chosen[row] = std::min<std::int64_t>(found - first, line.numel() - 1);
  }
  return chosen;
}

// The rows' texts while they grow, on the CPU.
struct Texts {
  at::Tensor tokens;   // [rows, width + new tokens]
  at::Tensor lengths;  // [rows]
  std::vector<bool> done;

  // Adds a token to each row that is not done.
  void Append(const std::vector<std::int64_t>& chosen, std::int64_t eos,
              std::vector<std::vector<std::int64_t>>& out) {
    std::int64_t* text = tokens.mutable_data_ptr<std::int64_t>();
    std::int64_t* length = lengths.mutable_data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      if (done[row]) continue;
      text[static_cast<std::int64_t>(row) * tokens.size(1) + length[row]++] = chosen[row];
      done[row] = chosen[row] == eos;
      if (!done[row]) out[row].push_back(chosen[row]);
    }
  }
};

}  // namespace

Generated Agent::Generate(const ModelInputs& prompt, const GenerateOptions& options) const {
  at::NoGradGuard no_grad;
  const AgentInputs in = AgentInputs::Read(prompt, {}, config_, vocabulary_);
  if (options.decode_image && in.images.empty()) {
    throw Error("the agent cannot decode a picture without an image; the prompt has none");
  }
  const at::Device device = parameters_.list().front().tensor.device();
  const auto given = [&](std::string_view name) {
    return std::find_if(prompt.begin(), prompt.end(),
                        [&](const ModelInput& input) { return input.name == name; });
  };
  const std::int64_t rows = in.rows(), width = given("tokens")->tensor.size(1), most = options.max_new_tokens;
  Texts texts{.tokens = at::full({rows, width + most}, pad_, at::kLong),
              .lengths = in.lengths.to(at::kCPU).clone(),
              .done = std::vector<bool>(static_cast<std::size_t>(rows))};
  texts.tokens.narrow(1, 0, width).copy_(given("tokens")->tensor);

  ModelInputs images;
  for (const ModelInput* image : in.images) {
    images.push_back({"images", image->tensor, "image " + std::to_string(images.size())});
  }
  CachingContext context;
  const auto run = [&](std::string_view wanted, std::vector<ModelInput> extra) {
    ModelInputs inputs = images;
    inputs.push_back({"tokens", texts.tokens.to(device), ""});
    inputs.push_back({"lengths", texts.lengths.to(device), ""});
    for (ModelInput& input : extra) inputs.push_back(std::move(input));
    return Forward(inputs, {wanted}, context).at(std::string(wanted));
  };

  Generated generated{.tokens = std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(rows)),
                      .image = {}};
  for (std::int64_t step = 0; step < most; ++step) {
    if (std::all_of(texts.done.begin(), texts.done.end(), [](bool done) { return done; })) break;
    // The token behind the last one; rows that are done repeat a position that exists.
    const at::Tensor next = at::clamp_max(texts.lengths, width + most - 1);
    const at::Tensor items = at::arange(rows, at::kLong) * (width + most) + next;
    texts.Append(Choose(run("logits", {{"supervised", items.to(device), ""}}), options, step), eos_,
                 generated.tokens);
  }
  if (options.decode_image) {
    std::vector<ModelInput> extra;
    if (given("context_lengths") != prompt.end()) extra.push_back(*given("context_lengths"));
    generated.image = run("image", std::move(extra));
  }
  return generated;
}

}  // namespace medley
