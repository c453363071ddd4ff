// The two models: sizes as published, what they see and what not, and where their gradients go.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <medley/base/error.h>

#include "tests/models.h"

namespace medley_signs {
namespace {

constexpr std::int64_t kFrames = 60;

at::Tensor Poses(std::int64_t rows, std::int64_t frames, std::uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::rand({rows, frames, kFeatures}).sub_(0.5);
}

double Furthest(const at::Tensor& a, const at::Tensor& b) { return a.sub(b).abs().max().item<double>(); }

TEST(Spoter, HasThePublishedParameters) {
  EXPECT_EQ(Made<Spoter>().parameters(), 5'918'848);
  EXPECT_EQ(Made<Spoter>({{"classes", 100.0}}).parameters(), 5'922'772);
  EXPECT_EQ(Made<Spoter>({{"classes", 60.0}}).parameters(), 5'918'412);
  const Made<Spoter> meta({}, at::kMeta);
  EXPECT_EQ(meta.parameters("encoder.0."), 492'044);
  EXPECT_EQ(meta.parameters("decoder.5."), 492'260);
}

TEST(Bdslw, HasThePublishedParameters) {
  EXPECT_EQ(Made<Bdslw>().parameters(), 1'319'434);
  EXPECT_EQ(Made<Bdslw>().parameters("encoder.7."), 158'732);
  EXPECT_EQ(Made<Bdslw>().parameters("head"), 21'174);
}

TEST(Spoter, StartsAsPublished) {
  const Made<Spoter> made({{"decoder_layers", 3.0}});
  at::Tensor rows, position, query;
  std::vector<at::Tensor> decoders[3];
  for (const medley::Parameter& parameter : made->parameters()) {
    if (parameter.name == "row_embed") rows = parameter.tensor;
    if (parameter.name == "position") position = parameter.tensor;
    if (parameter.name == "class_query") query = parameter.tensor;
    for (int layer = 0; layer < 3; ++layer) {
      if (parameter.name.starts_with("decoder." + std::to_string(layer) + "."))
        decoders[layer].push_back(parameter.tensor);
    }
  }
  EXPECT_TRUE(position.flatten().equal(rows[0]));
  for (const at::Tensor& uniform : {rows, query}) {
    EXPECT_GE(uniform.min().item<double>(), 0);
    EXPECT_LT(uniform.max().item<double>(), 1);
    EXPECT_GT(uniform.std().item<double>(), 0.2);
  }
  for (int layer = 1; layer < 3; ++layer) {
    ASSERT_EQ(decoders[layer].size(), decoders[0].size());
    for (std::size_t i = 0; i < decoders[0].size(); ++i)
      EXPECT_TRUE(decoders[layer][i].equal(decoders[0][i]));
  }
}

// Moves the logits of clips whose frames stand in another order.
template <typename Net>
double MovedByOrder(const char* positions) {
  const Made<Net> made({{"positions", std::string(positions)}});
  const at::Tensor poses = Poses(2, kFrames), lengths = Lengths({kFrames, kFrames});
  const at::Tensor shuffled = poses.index_select(1, at::randperm(kFrames));
  return Furthest(LogitsOf(*made, poses, lengths), LogitsOf(*made, shuffled, lengths));
}

TEST(Network, SeesTheOrderOfFramesByTheirPositionsAlone) {
  EXPECT_LT(MovedByOrder<Spoter>("shared"), 1e-5);
  EXPECT_LT(MovedByOrder<Spoter>("none"), 1e-5);
  EXPECT_LT(MovedByOrder<Bdslw>("none"), 1e-5);
  EXPECT_GT(MovedByOrder<Spoter>("frame"), 1e-4);
  EXPECT_GT(MovedByOrder<Bdslw>("frame"), 1e-4);
}

template <typename Net>
class EachModel : public ::testing::Test {};
using Models = ::testing::Types<Spoter, Bdslw>;
TYPED_TEST_SUITE(EachModel, Models);

TYPED_TEST(EachModel, WhatStandsBehindAClipIsNotSeen) {
  for (const char* attention : {"fused", "eager"}) {
    const Made<TypeParam> made({{"positions", std::string("frame")}, {"attention", std::string(attention)}});
    const at::Tensor clip = Poses(1, 40), other = Poses(1, 70, 2), junk = Poses(1, 30, 3).mul(9);
    const at::Tensor alone = LogitsOf(*made, clip, Lengths({40}));
    const at::Tensor padded = at::cat({at::cat({clip, junk}, 1), other});
    const at::Tensor beside = LogitsOf(*made, padded, Lengths({40, 70}));
    EXPECT_LT(Furthest(alone, beside.narrow(0, 0, 1)), 1e-6 * alone.abs().max().item<double>()) << attention;
    const at::Tensor seen = LogitsOf(*made, padded, Lengths({70, 70}));
    EXPECT_GT(Furthest(alone, seen.narrow(0, 0, 1)), 1e-2) << attention;
    made->To(at::kCPU, at::kDouble);
    EXPECT_LT(Furthest(LogitsOf(*made, clip, Lengths({40})),
                       LogitsOf(*made, padded, Lengths({40, 70})).narrow(0, 0, 1)),
              1e-12)
        << attention;
  }
}

TYPED_TEST(EachModel, FusedAndEagerAttentionAreOne) {
  const at::Tensor poses = Poses(3, 30), lengths = Lengths({30, 12, 1});
  const Made<TypeParam> fused({{"attention", std::string("fused")}}),
      eager({{"attention", std::string("eager")}});
  EXPECT_LT(Furthest(LogitsOf(*fused, poses, lengths), LogitsOf(*eager, poses, lengths)), 2e-6);
}

template <typename Fn>
std::string Refusal(const Fn& fn) {
  try {
    fn();
    return "it was taken";
  } catch (const medley::Error& error) {
    return error.what();
  }
}

TYPED_TEST(EachModel, ClipsThatAreTooLongOrHaveNoFrameAreRefused) {
  const Made<TypeParam> made({{"longest", 20.0}});
  const auto refusal = [&](std::int64_t frames, const std::vector<std::int64_t>& lengths) {
    return Refusal([&] { LogitsOf(*made, Poses(std::ssize(lengths), frames), Lengths(lengths)); });
  };
  EXPECT_EQ(refusal(20, {20, 1}), "it was taken");
  EXPECT_EQ(refusal(21, {21}), "clips of 21 frames, of which the model knows 20; set its \"longest\"");
  EXPECT_EQ(refusal(12, {5, 0}), "clips of 0 to 5 frames, expected 1 to 12, as many as \"poses\" has");
  EXPECT_EQ(refusal(12, {5, -1}), "clips of -1 to 5 frames, expected 1 to 12, as many as \"poses\" has");
  EXPECT_EQ(refusal(12, {13, 5}), "clips of 5 to 13 frames, expected 1 to 12, as many as \"poses\" has");
}

TYPED_TEST(EachModel, HeadsThatDoNotFitAreRefusedWithThoseThatDo) {
  EXPECT_EQ(
      Refusal([] {
        Made<TypeParam>({{"heads", 7.0}});
      }),
      "heads 7 do not divide the width 108 of a frame; expected one of 1, 2, 3, 4, 6, 9, 12, 18, 27, 36, "
      "54, 108");
}

TEST(Bdslw, HeadsThatDoNotFitAreRefusedByItsOwnWidth) {
  EXPECT_EQ(Refusal([] {
              Made<Bdslw>({{"width", 10.0}, {"heads", 4.0}});
            }),
            "heads 4 do not divide the width 10 of a frame; expected one of 1, 2, 5, 10");
}

// Nothing asks for the published table's rows: they have no gradient, which is not one of zeros.
TEST(Spoter, TheTableThatNobodyReadsHasNoGradient) {
  const Made<Spoter> made({{"encoder_layers", 1.0}, {"decoder_layers", 2.0}, {"dropout", 0.0}});
  medley::ForwardContext context;
  made->Forward(Inputs(Poses(2, 8), Lengths({8, 5})), {"logits"}, context).at("logits").sum().backward();
  for (const medley::Parameter& parameter : made->parameters())
    EXPECT_EQ(parameter.tensor.grad().defined(), parameter.name != "row_embed") << parameter.name;
}

}  // namespace
}  // namespace medley_signs
