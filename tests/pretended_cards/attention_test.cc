// Which kernels of attention libtorch takes on cards that are not here: its own choice, by its own binary,
// over a CUDA runtime that only pretends (cudart.cc). A new libtorch that chooses otherwise is seen here.
#include <gtest/gtest.h>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <medley/model/blocks/attention.h>

#include "cards.h"

namespace medley {
namespace {

using pretended::Card;
using pretended::kCards;

// A text behind a prefix, or without one; and a picture that sees texts of several lengths.
enum class What { kText, kTextBehindPrefix, kLengths };
struct Heads {
  std::int64_t queries, keys, dim;
};
constexpr std::array kHeads{Heads{8, 8, 64},  Heads{8, 2, 128}, Heads{8, 2, 20}, Heads{8, 2, 4},
                            Heads{8, 4, 192}, Heads{8, 8, 256}, Heads{8, 2, 320}};
struct Case {
  std::size_t card;
  at::ScalarType dtype;
  bool deterministic;
  What what;
  Heads heads;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << kCards[c.card].name << ' ' << c.dtype << (c.deterministic ? " deterministic" : "") << " kind "
       << static_cast<int>(c.what) << ' ' << c.heads.queries << '/' << c.heads.keys << " x " << c.heads.dim;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (std::size_t card = 0; card < kCards.size(); ++card)
    for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16})
      for (const bool deterministic : {false, true})
        for (const What what : {What::kText, What::kTextBehindPrefix, What::kLengths})
          for (const Heads& heads : kHeads) {
            if (dtype == at::kBFloat16 && kCards[card].capability < 80) continue;  // has no products in it
            cases.push_back({card, dtype, deterministic, what, heads});
          }
  return cases;
}

bool Has(const std::string& name, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return name.find(word) != std::string::npos; });
}
std::int64_t Count(const std::vector<std::string>& names, const std::vector<std::string>& words) {
  return std::count_if(names.begin(), names.end(), [&](const std::string& name) { return Has(name, words); });
}

class PretendedCards : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    namespace fs = std::filesystem;
    for (const auto& stub : fs::directory_iterator(MEDLEY_PRETENDED))
      ASSERT_NE(dlopen(stub.path().c_str(), RTLD_LAZY | RTLD_GLOBAL), nullptr) << dlerror();
    ASSERT_NE(dlopen(MEDLEY_TORCH_CUDA, RTLD_LAZY | RTLD_GLOBAL), nullptr) << dlerror();
    // It is not here to run. medley takes it where the public operator does, and flash is free there too.
    at::globalContext().setSDPUseCuDNN(false);
  }
};

TEST_F(PretendedCards, NoTextOnAnyCardKeepsAllScores) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(::testing::PrintToString(c));
    at::globalContext().setDeterministicAlgorithms(c.deterministic, /*warn_only=*/false);
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(c.card));
    const c10::DeviceGuard guard(device);  // the public operator asks the current one
    const std::int64_t n = 24, m = c.what == What::kText ? n : 37;
    const auto made = [&](std::int64_t heads, std::int64_t positions) {
      return at::empty({2, positions, heads, c.heads.dim}, at::device(device).dtype(c.dtype))
          .transpose(1, 2)
          .requires_grad_();
    };
    const at::Tensor q = made(c.heads.queries, n), k = made(c.heads.keys, m), v = made(c.heads.keys, m);
    const AttentionMask mask =
        c.what == What::kLengths
            ? AttentionMask(at::empty({2, 1, 1, m}, q.options().requires_grad(false)))
            : AttentionMask::Causal(n, m, q.options().requires_grad(false), AttentionKind::kFused);
    EXPECT_EQ(mask.additive.defined(), c.what == What::kLengths);
    pretended::TakeLaunched();
    const at::Tensor out = Attend(q, k, v, mask);
    EXPECT_EQ(out.sizes(), (at::IntArrayRef{2, n, c.heads.queries * c.heads.dim}));
    const auto forward = pretended::TakeLaunched();
    torch::autograd::grad({out}, {q, k, v}, {at::empty_like(out)});
    const auto backward = pretended::TakeLaunched();
    for (const auto& names : {forward, backward}) EXPECT_EQ(Count(names, {"softmax", "SoftMax"}), 0);
    EXPECT_EQ(Count(forward, {"flash_fwd", "fmha_cutlassF"}), 1);
    EXPECT_GE(Count(backward, {"flash_bwd", "fmha_cutlassB"}), 1);
  }
}

}  // namespace
}  // namespace medley
