#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

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

  // x [heads * d] of one position -> [heads, d]
  at::Tensor Rotated(const at::Tensor& x, const at::Tensor& norm, std::int64_t position) const {
    const std::int64_t d = config_.head_dim, half = d / 2;
    const at::Tensor n = Norm(x.view({-1, d}), norm);
    at::Tensor y = at::empty_like(n);
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(config_.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(d));
      y.select(1, i).copy_(n.select(1, i) * std::cos(angle) - n.select(1, i + half) * std::sin(angle));
      y.select(1, i + half).copy_(n.select(1, i + half) * std::cos(angle) + n.select(1, i) * std::sin(angle));
    }
    return y;
  }

  at::Tensor Layer(const std::string& name, const at::Tensor& prefix, const at::Tensor& x) const {
    const at::Tensor n1 = W(name + "input_layernorm");
    const at::Tensor seen = Norm(at::cat({prefix, x}), n1);
    const std::int64_t begin = prefix.size(0), d = config_.head_dim, group = config_.heads / config_.kv_heads;
    std::vector<at::Tensor> keys, values, rows;
    for (std::int64_t j = 0; j < seen.size(0); ++j) {
      keys.push_back(Rotated(at::mv(W(name + "self_attn.k_proj"), seen[j]), W(name + "self_attn.k_norm"), j));
      values.push_back(at::mv(W(name + "self_attn.v_proj"), seen[j]).view({-1, d}));
    }
    for (std::int64_t t = 0; t < x.size(0); ++t) {
      const std::int64_t position = begin + t;
      const at::Tensor q = Rotated(at::mv(W(name + "self_attn.q_proj"), seen[position]),
                                   W(name + "self_attn.q_norm"), position);
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
      rows.push_back(x[t] + at::mv(W(name + "self_attn.o_proj"), at::cat(heads)));
    }
    const at::Tensor y = at::stack(rows), n = Norm(y, W(name + "post_attention_layernorm"));
    const at::Tensor gate = at::linear(n, W(name + "mlp.gate_proj")),
                     up = at::linear(n, W(name + "mlp.up_proj"));
    return y + at::linear(gate * at::sigmoid(gate) * up, W(name + "mlp.down_proj"));
  }

  AgentConfig::Language config_;
  std::map<std::string, at::Tensor> weights_;
};

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
  for (const auto& [kv_heads, attention] : {std::pair{1, AttentionKind::kFused},
                                            {2, AttentionKind::kFused},
                                            {4, AttentionKind::kFused},
                                            {2, AttentionKind::kEager}}) {
    AgentConfig::Language config = test::SmallConfig().language;
    config.kv_heads = kv_heads;
    config.attention = attention;
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
      EXPECT_LT(test::LargestDifference(fast[row], slow.Run(prefix[row], ids[row])), 1e-9) << kv_heads;
    }
    const at::Tensor expected = at::linear(fast, built.set.list().front().tensor);
    EXPECT_LT(test::LargestDifference(built.language.Logits(fast), expected), 1e-12);
  }
}

// Texts of different lengths grow by three tokens each, one at a time, from what was kept.
TEST(Language, ATextThatGrowsHasTheStatesOfTheWholeText) {
  constexpr std::int64_t kPrefix = 5, kWidth = 6, kNew = 3;
  for (const auto& [kv_heads, attention] : {std::pair{1, AttentionKind::kFused},
                                            {2, AttentionKind::kFused},
                                            {4, AttentionKind::kFused},
                                            {2, AttentionKind::kEager}}) {
    AgentConfig::Language config = test::SmallConfig().language;
    config.kv_heads = kv_heads;
    config.attention = attention;
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
        EXPECT_LT(test::LargestDifference(state[row], same), 1e-12) << kv_heads << " " << step << " " << row;
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
