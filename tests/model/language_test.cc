#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include <set>

#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

// A Qwen3 decoder with a key/value prefix in the obvious way: one row, one head, one query at a time.
class SlowLanguage {
 public:
  SlowLanguage(const ParameterSet& set, const AgentConfig::Language& config) : config_(config) {
    for (const Parameter& parameter : set.list()) weights_[parameter.name] = parameter.tensor.detach();
  }

  at::Tensor Run(const at::Tensor& prefix, const at::Tensor& ids) const {
    at::Tensor x = at::embedding(W("embed_tokens"), ids);
    for (std::int64_t i = 0; i < config_.layers; ++i)
      x = Layer(std::string("layers.").append(std::to_string(i)).append("."), prefix, x);
    return Norm(x, W("norm"));
  }

 private:
  const at::Tensor& W(const std::string& name) const { return weights_.at("model." + name + ".weight"); }

  at::Tensor Norm(const at::Tensor& x, const at::Tensor& w) const {
    return x / at::sqrt(x.square().mean(-1, true) + config_.rms_epsilon) * w;
  }

  // Of a pair of dims, for each position, as the published code of Llama 3.1 has it: by wavelengths.
  double Turn(std::int64_t pair) const {
    const double turn =
        std::pow(config_.rope_base, -2.0 * static_cast<double>(pair) / static_cast<double>(config_.head_dim));
    const RopeScaling& scaling = config_.rope_scaling;
    const double wavelength = 2 * 3.14159265358979323846 / turn;
    const auto original = static_cast<double>(scaling.original_positions);
    if (scaling.factor == 1 || wavelength < original / scaling.high_freq_factor) return turn;
    if (wavelength > original / scaling.low_freq_factor) return turn / scaling.factor;
    const double smooth = (original / wavelength - scaling.low_freq_factor) /
                          (scaling.high_freq_factor - scaling.low_freq_factor);
    return (1 - smooth) * turn / scaling.factor + smooth * turn;
  }

  // W x + b, where there is a b.
  at::Tensor Map(const std::string& name, const at::Tensor& x) const {
    const at::Tensor y = at::mv(W(name), x);
    const auto bias = weights_.find("model." + name + ".bias");
    return bias == weights_.end() ? y : y + bias->second;
  }

  // x [heads * d] of one position -> [heads, d]; `norm`: its name.
  at::Tensor Rotated(const at::Tensor& x, const std::string& norm, std::int64_t position) const {
    const std::int64_t d = config_.head_dim, half = d / 2;
    const at::Tensor n = config_.qk_norm ? Norm(x.view({-1, d}), W(norm)) : x.view({-1, d});
    at::Tensor y = at::empty_like(n);
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * Turn(i);
      y.select(1, i).copy_(n.select(1, i) * std::cos(angle) - n.select(1, i + half) * std::sin(angle));
      y.select(1, i + half).copy_(n.select(1, i + half) * std::cos(angle) + n.select(1, i) * std::sin(angle));
    }
    return y;
  }

  at::Tensor Layer(const std::string& name, const at::Tensor& prefix, const at::Tensor& x) const {
    const std::string attention = name + "self_attn.";
    const at::Tensor seen = Norm(at::cat({prefix, x}), W(name + "input_layernorm"));
    const std::int64_t begin = prefix.size(0), d = config_.head_dim, group = config_.heads / config_.kv_heads;
    std::vector<at::Tensor> keys, values, rows;
    for (std::int64_t j = 0; j < seen.size(0); ++j) {
      keys.push_back(Rotated(Map(attention + "k_proj", seen[j]), attention + "k_norm", j));
      values.push_back(Map(attention + "v_proj", seen[j]).view({-1, d}));
    }
    for (std::int64_t t = 0; t < x.size(0); ++t) {
      const std::int64_t position = begin + t;
      const at::Tensor q = Rotated(Map(attention + "q_proj", seen[position]), attention + "q_norm", position);
      std::vector<at::Tensor> heads;
      for (std::int64_t h = 0; h < config_.heads; ++h) {
        std::vector<at::Tensor> scores;
        for (std::int64_t j = 0; j <= position; ++j) {
          scores.push_back(at::dot(q[h], keys[static_cast<std::size_t>(j)][h / group]) /
                           std::sqrt(static_cast<double>(d)));
        }
        const at::Tensor weight = at::softmax(at::stack(scores), 0);
        at::Tensor sum = at::zeros({d}, x.options());
        for (std::int64_t j = 0; j <= position; ++j)
          sum += weight[j] * values[static_cast<std::size_t>(j)][h / group];
        heads.push_back(sum);
      }
      rows.push_back(x[t] + Map(attention + "o_proj", at::cat(heads)));
    }
    const at::Tensor y = at::stack(rows), n = Norm(y, W(name + "post_attention_layernorm"));
    const at::Tensor gate = at::linear(n, W(name + "mlp.gate_proj")),
                     up = at::linear(n, W(name + "mlp.up_proj"));
    return y + at::linear(gate * at::sigmoid(gate) * up, W(name + "mlp.down_proj"));
  }

  AgentConfig::Language config_;
  std::map<std::string, at::Tensor> weights_;
};

// Heads that share keys, attention of both kinds, and what Qwen2 and Llama do otherwise.
std::vector<LanguageConfig> Forms() {
  std::vector<LanguageConfig> forms(7, test::SmallConfig().language);
  forms[0].kv_heads = 1;
  forms[2].kv_heads = 4;
  forms[3].attention = AttentionKind::kEager;
  forms[4].qk_norm = false, forms[4].attention_bias = AttentionBias::kQkv;
  forms[5].attention_bias = AttentionBias::kQkvo;
  // One of the three turns is slowed, one is between, one stays.
  forms[6].qk_norm = false, forms[6].rope_base = 10;
  forms[6].rope_scaling = {
      .factor = 4, .low_freq_factor = 0.5, .high_freq_factor = 2, .original_positions = 14};
  return forms;
}

std::string Words(const LanguageConfig& config) {
  return std::to_string(config.kv_heads) + " kv heads" + (config.qk_norm ? "" : ", no norm") + ", bias " +
         std::to_string(static_cast<int>(config.attention_bias)) +
         (config.attention == AttentionKind::kEager ? ", eager" : "") +
         (config.rope_scaling.factor == 1 ? "" : ", scaled");
}

struct Built {
  explicit Built(const AgentConfig::Language& config)
      : set(5, at::kCPU), language(set, config, 50, 64), slow(set, config) {}
  static void Randomize(ParameterSet& set) {  // norms other than 1, too
    at::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(6);
    for (const Parameter& p : set.list()) p.tensor.normal_(0.1, 0.6, generator);
  }
  ParameterSet set;
  Language language;
  SlowLanguage slow;
};

TEST(Language, EqualsASlowObviousVersion) {
  for (const LanguageConfig& config : Forms()) {
    Built built(config);
    Built::Randomize(built.set);
    built.set.To(at::kCPU, at::kDouble);
    built.language.To(at::kCPU, at::kDouble);
    const SlowLanguage slow(built.set, config);
    at::NoGradGuard no_grad;
    const at::Tensor ids = at::randint(0, 50, {2, 7}, at::kLong);
    const at::Tensor prefix = at::randn({2, 5, config.hidden}, at::kDouble);
    ForwardContext context;
    const TextInput text{.prefix = prefix, .selected = {}};
    const at::Tensor fast = built.language.Hidden(built.language.Embed(ids), text, context);
    for (std::int64_t row = 0; row < 2; ++row) {
      EXPECT_LT(test::LargestDifference(fast[row], slow.Run(prefix[row], ids[row])), 1e-9) << Words(config);
    }
    const at::Tensor expected = at::linear(fast, built.set.list().front().tensor);
    EXPECT_LT(test::LargestDifference(built.language.Logits(fast), expected), 1e-12);
  }
}

// Texts of different lengths grow by three tokens each, one at a time, from what was kept.
TEST(Language, ATextThatGrowsHasTheStatesOfTheWholeText) {
  constexpr std::int64_t kPrefix = 5, kWidth = 6, kNew = 3;
  for (const LanguageConfig& config : Forms()) {
    Built built(config);
    Built::Randomize(built.set);
    built.set.To(at::kCPU, at::kDouble);
    built.language.To(at::kCPU, at::kDouble);
    const Language& language = built.language;
    at::NoGradGuard no_grad;
    const at::Tensor ids = at::randint(0, 50, {3, kWidth + kNew}, at::kLong);
    const at::Tensor prefix = at::randn({3, kPrefix, config.hidden}, at::kDouble);
    at::Tensor lengths = at::tensor({2, 6, 4}, at::kLong);

    ForwardContext context;
    TextCache cache;
    cache.positions = kPrefix + kWidth + kNew;
    TextInput text{.prefix = prefix, .selected = {}};
    text.cache = &cache;
    language.Hidden(language.Embed(ids.narrow(1, 0, kWidth)), text, context);  // rows 0 and 2 keep too much
    const TextInput whole{.prefix = prefix, .selected = {}};
    const at::Tensor expected = language.Hidden(language.Embed(ids), whole, context);
    for (std::int64_t step = 0; step < kNew; ++step, lengths += 1) {
      const at::Tensor next = ids.gather(1, lengths.unsqueeze(1)).squeeze(1);
      const at::Tensor state =
          language.Continue(language.Embed(next), lengths + kPrefix, kPrefix + 7 + step, cache);
      for (std::int64_t row = 0; row < 3; ++row) {
        const at::Tensor same = expected[row][lengths[row].item<std::int64_t>()];
        EXPECT_LT(test::LargestDifference(state[row], same), 1e-12)
            << Words(config) << " " << step << " " << row;
      }
    }
  }
}

TEST(Language, TheScaleOfThePrefixMattersOnlyThroughEpsilon) {
  AgentConfig::Language config = test::SmallConfig().language;
  for (const double epsilon : {1e-6, 1e-2}) {
    config.rms_epsilon = epsilon;
    Built built(config);
    built.set.To(at::kCPU, at::kDouble);
    built.language.To(at::kCPU, at::kDouble);
    at::NoGradGuard no_grad;
    const at::Tensor prefix = at::randn({1, 5, config.hidden}, at::kDouble);
    const at::Tensor x = at::randn({1, 4, config.hidden}, at::kDouble);
    const auto run = [&](const at::Tensor& u) {
      ForwardContext context;
      return built.language.Hidden(x, {.prefix = u, .selected = {}}, context);
    };
    const double difference = test::LargestDifference(run(prefix), run(prefix * 10));
    EXPECT_LT(difference, 10 * epsilon);
    EXPECT_GT(difference, epsilon / 1000);
  }
}

// As a model of a plugin uses it: under its own name, and nothing in front of the text.
TEST(Language, WithoutAPrefixEachTokenSeesThoseBeforeIt) {
  ParameterSet set(5, at::kCPU);
  const Language language(set, test::SmallConfig().language, 50, 64, "speaker.");
  EXPECT_EQ(set.list().front().name, "speaker.model.embed_tokens.weight");
  at::NoGradGuard no_grad;
  const at::Tensor ids = at::randint(0, 50, {3, 8}, at::kLong);
  at::Tensor other = ids.clone();
  other.narrow(1, 5, 3) = (other.narrow(1, 5, 3) + 1) % 50;
  ForwardContext context;
  const auto states = [&](const at::Tensor& of) { return language.Hidden(language.Embed(of), {}, context); };
  EXPECT_TRUE(at::allclose(states(ids).narrow(1, 0, 5), states(other).narrow(1, 0, 5), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(states(ids), states(other), 1e-3, 1e-3));
}

// Names and shapes of a layer's parameters in the other architectures.
TEST(Language, NormsAndBiasesAreParametersWhereTheConfigSaysSo) {
  const auto names = [](bool qk_norm, AttentionBias bias) {
    AgentConfig::Language config = test::SmallConfig().language;
    config.qk_norm = qk_norm, config.attention_bias = bias;
    const Built built(config);
    std::set<std::string> found;
    for (const Parameter& parameter : built.set.list()) {
      const std::size_t at = parameter.name.find("layers.0.self_attn.");
      const bool is_weight = parameter.name.ends_with("_proj.weight");
      if (at != std::string::npos && !is_weight) found.insert(parameter.name.substr(at + 19));
    }
    return found;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names(true, AttentionBias::kNone), (Names{"q_norm.weight", "k_norm.weight"}));
  EXPECT_EQ(names(false, AttentionBias::kQkv), (Names{"q_proj.bias", "k_proj.bias", "v_proj.bias"}));
  EXPECT_EQ(names(false, AttentionBias::kQkvo),
            (Names{"q_proj.bias", "k_proj.bias", "v_proj.bias", "o_proj.bias"}));
}

TEST(Language, AnUntiedTableIsAParameterOfItsOwn) {
  AgentConfig::Language config = test::SmallConfig().language;
  config.tied = false;
  Built built(config);
  EXPECT_EQ(built.set.list().back().name, "lm_head.weight");
  const at::Tensor hidden = at::randn({3, config.hidden});
  EXPECT_TRUE(
      at::allclose(built.language.Logits(hidden), at::linear(hidden, built.set.list().back().tensor)));
}

}  // namespace
}  // namespace medley
