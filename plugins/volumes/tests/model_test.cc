// The model: sizes as published, what it sees of which scan, and where its gradients go.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <medley/base/error.h>
#include <medley/task/losses.h>
#include <medley/testing/gradients.h>

#include "tests/models.h"

namespace medley_volumes {
namespace {

Values With(Values values, const Values& changes) {
  values.insert(values.end(), changes.begin(), changes.end());
  return values;
}

// Of the two published towers; the rest does not matter here. That configs/published-*.json train these, and
// nothing else, is volumes.estimate.published's.
Values Published(double width, double size, double patch) {
  return {{"volume.size", size},   {"volume.patch", patch}, {"series.size", 96.0},  {"series.patch", 16.0},
          {"series.frames", 24.0}, {"series.step", 3.0},    {"tower.width", width}, {"tower.heads", 16.0},
          {"tower.layers", 1.0},   {"language.layers", 1.0}};
}

TEST(Patches, HaveThePublishedParameters) {
  const Made clip(Published(1024, 120, 10), at::kMeta), siglip(Published(1152, 96, 16), at::kMeta);
  EXPECT_EQ(clip.parameters("patches.volume."), 2'794'496);
  EXPECT_EQ(clip.parameters("patches.series."), 14'353'408);
  EXPECT_EQ(siglip.parameters("patches.volume."), 4'968'576);
  EXPECT_EQ(siglip.parameters("patches.series."), 16'147'584);
}

TEST(Patches, AreAsManyAsPublished) {
  const auto tokens = [](std::int64_t side, std::int64_t patch, std::int64_t frames = 1,
                         std::int64_t step = 1) {
    return Patches::Setting{.side = side, .patch = patch, .frames = frames, .step = step}.tokens();
  };
  EXPECT_EQ(tokens(120, 10), 1728);
  EXPECT_EQ(tokens(96, 16, 24, 3), 1728);
  EXPECT_EQ(tokens(96, 16), 216);
  EXPECT_EQ(tokens(128, 16), 512);
  EXPECT_EQ(tokens(96, 16, 20, 5), 864);
  // 128 / 18 and 96 / 10 are published with voxels dropped at the edge; here the sizes must fit: 126 and 90.
  EXPECT_EQ(tokens(126, 18), 343);
  EXPECT_EQ(tokens(90, 10), 729);
}

TEST(Patches, AreAConvolutionWhoseStrideIsItsKernel) {
  medley::ParameterSet set(1, at::kCPU);
  const Patches patches(set, "patches", {.side = 12, .patch = 4, .width = 10});
  const at::Tensor scans = at::randn({3, 12, 12, 12});
  at::Tensor weight, bias, positions;
  for (const medley::Parameter& parameter : set.list()) {
    if (parameter.name == "patches.project.weight") weight = parameter.tensor;
    if (parameter.name == "patches.project.bias") bias = parameter.tensor;
    if (parameter.name == "patches.positions") positions = parameter.tensor;
  }
  const at::Tensor convolved = at::conv3d(scans.unsqueeze(1), weight.view({10, 1, 4, 4, 4}), bias, 4);
  EXPECT_LT(Furthest(patches(scans), convolved.flatten(2).transpose(1, 2).add(positions)), 3e-6);
}

TEST(Patches, OfASeriesStandInTheOrderOfTime) {
  medley::ParameterSet set(1, at::kCPU);
  const Patches patches(set, "patches", {.side = 4, .patch = 2, .frames = 6, .step = 3, .width = 5});
  at::Tensor series = at::zeros({1, 6, 4, 4, 4});
  series[0][4][3][0][1] = 1;  // the second patch of time, the upper one of the first axis
  const at::Tensor cut = patches.Cut(series);
  EXPECT_EQ(cut.sizes(), (at::IntArrayRef{1, 16, 24}));
  EXPECT_EQ(cut.nonzero().sizes(), (at::IntArrayRef{1, 3}));
  EXPECT_EQ(cut[0][8 + 4][8 + 4 + 0 + 1].item<double>(), 1);
}

Conversation CompareRow(medley::Row& row) { return CompareExample(row, {8, 4, 4}, 3, false); }
Conversation MultimodalRow(medley::Row& row) { return MultimodalExample(row, {8, 4, 4}, 0.5); }

// A row's answers depend on that row alone: rows of 2, 3 and 4 scans, and those without one, in any order.
TEST(Volumes, ABatchOfOtherNumbersOfScansIsTheRowsAlone) {
  for (const char* attention : {"fused", "eager"}) {
    const Made made(With(SmallValues(), {{"attention", std::string(attention)}}));
    std::vector<Conversation> rows = Rows(6, CompareRow);
    for (const Conversation& row : Rows(4, MultimodalRow)) rows.push_back(row);
    Conversation words;
    words.turns = {{Role::kUser, {" q?"}}, {Role::kAssistant, {" a"}}};
    rows.insert(rows.begin() + 3, words);
    const at::Tensor together = LogitsOf(made, rows);
    std::vector<at::Tensor> alone;
    for (const Conversation& row : rows) alone.push_back(LogitsOf(made, {row}));
    EXPECT_LT(Furthest(together, at::cat(alone)), 1e-5) << attention;
    std::reverse(rows.begin(), rows.end());
    std::reverse(alone.begin(), alone.end());
    EXPECT_LT(Furthest(LogitsOf(made, rows), at::cat(alone)), 1e-5) << attention;
  }
}

// The trap: one scan, then three. A view by rows would hand the second row the third and fourth scan.
TEST(Volumes, OneAndThreeScansAreNotTwoAndTwo) {
  const Made made;
  const auto with = [](std::int64_t scans) {
    return [scans](medley::Row& row) { return CompareExample(row, {8, 4, 4}, scans, false); };
  };
  medley::RowRange range{.seed = 5, .begin = 0, .count = 1, .longest = true};
  medley::Row first(range, 0), second(range, 0);
  const std::vector<Conversation> rows = {with(1)(first), with(3)(second)};
  EXPECT_EQ(CountScans(rows[0]).volumes, 2);
  EXPECT_EQ(CountScans(rows[1]).volumes, 4);
  EXPECT_LT(Furthest(LogitsOf(made, rows), at::cat({LogitsOf(made, {rows[0]}), LogitsOf(made, {rows[1]})})),
            1e-5);
}

// The second scan of a comparison is shown behind the first answer, the first one before both.
TEST(Volumes, AnAnswerSeesTheScansBeforeItAndNoOthers) {
  const Made made;
  const Conversation row = Rows(1, [](medley::Row& r) { return CompareExample(r, {8, 4, 4}, 1, false); })[0];
  const auto changed = [&](std::size_t turn) {
    Conversation other = row;
    other.turns[turn].items[0] = Scan{Modality::kVolume, [] { return at::randn({8, 8, 8}); }};
    return LogitsOf(made, {other});
  };
  const at::Tensor logits = LogitsOf(made, {row});
  const std::int64_t first = std::ssize(std::get<std::string>(row.turns[1].items[0])) + 1;
  EXPECT_LT(Furthest(changed(2).narrow(0, 0, first), logits.narrow(0, 0, first)), 1e-6);
  EXPECT_GT(Furthest(changed(2).slice(0, first), logits.slice(0, first)), 1e-4);
  EXPECT_GT(Furthest(changed(0).narrow(0, 0, first), logits.narrow(0, 0, first)), 1e-4);
  EXPECT_GT(Furthest(changed(0).slice(0, first), logits.slice(0, first)), 1e-4);
}

TEST(Volumes, WhatNoRowShowsHasNoGradient) {
  const Made made;
  const auto idle = [&](const std::vector<Conversation>& rows) {
    medley::ClearGradients(*made);
    const medley::ModelOutputs outputs = Ask(*made, made.BatchOf(rows));
    medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets")).backward();
    std::string names;
    for (const medley::Parameter& parameter : made->parameters()) {
      if (!parameter.tensor.grad().defined())
        names += parameter.name.substr(0, parameter.name.find('.', 8)) + " ";
    }
    return names;
  };
  EXPECT_EQ(idle(Rows(3, CompareRow)), "patches.series patches.series patches.series ");
  EXPECT_EQ(idle(Rows(8, MultimodalRow)), "");
  Conversation words;
  words.turns = {{Role::kUser, {" q?"}}, {Role::kAssistant, {" a"}}};
  EXPECT_NE(idle({words}).find("patches.volume"), std::string::npos);
}

// Where the assistant speaks, by the words of a row: what is behind "assistant:", up to the end of the turn.
std::vector<bool> Spoken(const at::Tensor& tokens) {
  const std::vector<std::int64_t> header = kBytes.Encode("assistant:");
  const std::vector<std::int64_t> ids(tokens.const_data_ptr<std::int64_t>(),
                                      tokens.const_data_ptr<std::int64_t>() + tokens.numel());
  std::vector<bool> spoken(ids.size(), false);
  bool speaks = false;
  for (std::size_t i = header.size(); i < ids.size(); ++i) {
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(i);
    speaks = speaks || std::equal(header.begin(), header.end(), end - std::ssize(header));
    spoken[i] = speaks;
    if (ids[i] == kBytes.eos()) speaks = false;
  }
  return spoken;
}

// The slow way: logits of every token, and labels of -100 where users speak.
TEST(Volumes, WhatUsersSayHasNoGradientAndWhatAssistantsSayTheWholeOne) {
  const Made made;
  const medley::Batch batch = made.BatchOf(Rows(3, CompareRow));
  const at::Tensor& tokens = batch.Column("tokens");
  std::vector<std::int64_t> places, labels;
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const std::vector<bool> spoken = Spoken(tokens[row]);
    for (std::int64_t i = 1; i < batch.Column("lengths")[row].item<std::int64_t>(); ++i) {
      places.push_back(row * tokens.size(1) + i);
      labels.push_back(spoken[static_cast<std::size_t>(i)] ? tokens[row][i].item<std::int64_t>() : -100);
    }
  }
  medley::ModelInputs inputs = InputsOf(batch, "learned");
  inputs.back().tensor = at::tensor(places, at::kLong);
  medley::ForwardContext context;
  at::Tensor logits = made->Forward(inputs, {"logits", "targets"}, context).at("logits");
  logits.retain_grad();
  const at::Tensor label = at::tensor(labels, at::kLong);
  at::cross_entropy_loss(logits, label, {}, at::Reduction::Sum, -100).backward();
  const medley::check::Gradient slow = medley::check::TakeGradient(*made);
  const at::Tensor moved = logits.grad().abs().sum(1).gt(0);
  EXPECT_TRUE(moved.equal(label.ge(0)));
  EXPECT_GT(label.lt(0).sum().item<std::int64_t>(), label.ge(0).sum().item<std::int64_t>());
  const medley::ModelOutputs outputs = Ask(*made, batch);
  medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets")).backward();
  EXPECT_LT(medley::check::Distance(medley::check::TakeGradient(*made), slow), 1e-5);
}

TEST(Volumes, NothingLearnedIsZeroAndNotNan) {
  const Made made;
  medley::Batch batch = made.BatchOf(Rows(2, CompareRow));
  medley::ModelInputs inputs = InputsOf(batch, "learned");
  inputs.back().tensor = at::empty({0}, at::kLong);
  medley::ForwardContext context;
  const medley::ModelOutputs outputs = made->Forward(inputs, {"logits", "targets"}, context);
  const at::Tensor loss = medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets"));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  for (const at::Tensor& gradient : medley::check::TakeGradient(*made))
    EXPECT_EQ(gradient.abs().sum().item<double>(), 0);
}

TEST(Volumes, FusedAndEagerAttentionAreOne) {
  const Made fused(With(SmallValues(), {{"attention", std::string("fused")}})),
      eager(With(SmallValues(), {{"attention", std::string("eager")}}));
  const std::vector<Conversation> rows = Rows(4, MultimodalRow);
  EXPECT_LT(Furthest(LogitsOf(fused, rows), LogitsOf(eager, rows)), 1e-5);
}

// As a SigLIP's, in place of the model's own.
TEST(Volumes, APublishedTowersLayersTakeTheOwnOnesPlace) {
  const Made made(With(SmallValues(), {{"tower.kind", std::string("siglip")},
                                       {"tower.activation", std::string("gelu_tanh")}}));
  EXPECT_EQ(made.parameters("tower."), 0);
  EXPECT_EQ(made.parameters("vision_tower.encoder.layers.0."), Made().parameters("tower.0."));
  const std::vector<Conversation> rows = Rows(3, CompareRow);
  std::vector<at::Tensor> alone;
  for (const Conversation& row : rows) alone.push_back(LogitsOf(made, {row}));
  EXPECT_LT(Furthest(LogitsOf(made, rows), at::cat(alone)), 1e-5);
}

TEST(Footprint, IsNeverBelowWhatAForwardTakesAndHardlyAbove) {
  for (const auto& [attention, type, kind] : {std::tuple{"fused", at::kFloat, "none"},
                                              {"eager", at::kFloat, "none"},
                                              {"fused", at::kFloat, "siglip"},
                                              {"fused", at::kBFloat16, "none"},
                                              {"eager", at::kBFloat16, "none"}}) {
    for (const bool series : {false, true}) {
      const Made made({{"attention", std::string(attention)},
                       {"language.positions", 2048.0},
                       {"tower.kind", std::string(kind)}});
      made->To(at::kCPU, type);
      const Geometry geometry = made.geometry();
      const medley::Batch batch = made.BatchOf(Rows(4, [&](medley::Row& row) {
        return series ? MultimodalExample(row, geometry, 1) : CompareExample(row, geometry, 2, false);
      }));
      const medley::ModelInputs inputs = InputsOf(batch, "learned");
      const std::int64_t width = batch.Column("lengths").max().item<std::int64_t>();
      for (const bool with_graph : {true, false}) {
        const medley::ForwardShape shape{.rows = 4,
                                         .sizes = {{"volumes", batch.Ragged("volumes").values.size(0)},
                                                   {"series", batch.Ragged("series").values.size(0)},
                                                   {"text_width", width},
                                                   {"supervised", batch.Ragged("learned").values.size(0)}},
                                         .outputs = {"logits"},
                                         .with_graph = with_graph};
        for (const std::string& finding :
             medley::check::Footprint(*made, inputs, {"logits", "targets"}, shape, 1.06))
          ADD_FAILURE() << finding << ", " << attention << ", " << kind << ", " << type
                        << (series ? ", series" : "") << (with_graph ? "" : ", no graph");
      }
    }
  }
}

}  // namespace
}  // namespace medley_volumes
