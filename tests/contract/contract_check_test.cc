#include <gtest/gtest.h>
#include <medley/contract/contract_check.h>
#include <medley/model/device.h>
#include <medley/step/sample_rows.h>

#include <memory>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// A task of two passes that does what its spec says, but for what a test changes.
struct Odd {
  TaskInfo info = QaInfo("odd", 2);
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = QaPass};

  std::string Message() const {
    FixtureModel model;
    Fixture fixture(info, script);
    ContractCheck check(model, at::kCPU);
    const std::string message = MessageOf([&] { check.Check(*fixture.task, Fixture::Range(1)); });
    for (const Parameter& parameter : model.parameters()) EXPECT_FALSE(parameter.tensor.grad().defined());
    return message;
  }
  // Passes run as in QaPass, with something more.
  void Also(std::function<void(const std::string& pass, PassContext&, Sums&)> more) {
    script.run = [more](const std::string& pass, PassContext& context) {
      Sums sums = QaPass(pass, context);
      more(pass, context, sums);
      return sums;
    };
  }
};

// A GPU's own check of an id that is none would end its context, so rows are looked at on the host.
TEST(Contract, IdsThatAreNoneAreFoundOnTheHost) {
  Fixture fixture(QaInfo("odd", 2),
                  {.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = QaPass});
  const auto words = [&](const std::string& column, std::int64_t id) {
    Batch batch(RowRange{1, 10, 3});
    at::Tensor ids = at::zeros({3, 4}, at::kLong);
    ids[2][1] = id;
    batch.Add(column, ids);
    return MessageOf([&] { CheckTokens(*fixture.task, batch, 100); });
  };
  EXPECT_EQ(words("tokens", 99), "nothing was thrown");
  EXPECT_EQ(words("labels", 100), "nothing was thrown");
  EXPECT_TRUE(Says(words("tokens", 100), {"task 'odd'", "column 'tokens'", "row 12", "0 to 100", "0 to 99"}));
  EXPECT_TRUE(Says(words("recall.tokens", -1), {"recall.tokens", "from -1 to 0"}));
  const auto padded = [&](std::int64_t id) {
    Batch batch(RowRange{1, 10, 3});
    batch.AddPadded("chosen.tokens", {{1, 2, 3}, {}, {4, id}}, 8, 0);
    return MessageOf([&] { CheckTokens(*fixture.task, batch, 100); });
  };
  EXPECT_EQ(padded(99), "nothing was thrown");
  EXPECT_TRUE(Says(padded(100), {"column 'chosen.tokens'", "row 12", "from 100 to 100", "0 to 99"}));
}

// What a longest row must be is seen of padded columns, too.
TEST(Contract, APaddedColumnWhoseLongestRowsAreShorterThanOthersIsFound) {
  const auto words = [](std::int64_t longest) {
    FixtureModel model;
    Fixture fixture(QaInfo("odd", 2), {.sample =
                                           [longest](const RowRange& rows) {
                                             Batch batch = QaRows(rows, 2);
                                             std::vector<std::vector<std::int64_t>> ids;
                                             for (std::int64_t i = 0; i < rows.count; ++i) {
                                               const std::int64_t number = rows.begin + i;
                                               ids.emplace_back(static_cast<std::size_t>(
                                                   rows.longest ? longest : 4 + number % 40));
                                             }
                                             batch.AddPadded("extra.tokens", ids, 64, 0);
                                             return batch;
                                           },
                                       .run = QaPass});
    ContractCheck check(model, at::kCPU);
    return MessageOf([&] { check.Check(*fixture.task, Fixture::Range(0)); });
  };
  EXPECT_EQ(words(64), "nothing was thrown");
  EXPECT_TRUE(Says(words(20), {"items in the ragged column 'extra.tokens'", "honour RowRange::longest"}));
}

TEST(Contract, ATaskThatDoesWhatItsSpecSaysPasses) {
  EXPECT_EQ(Odd().Message(), "nothing was thrown");
  FixtureModel model;
  Fixture canvas = Canvas();
  ContractCheck check(model, at::kCPU);
  EXPECT_NO_THROW(check.Check(*canvas.task, Fixture::Range(0)));
}

TEST(Contract, AnExecutorChecksATaskOnceAndOnlyForAModeThatNeedsIt) {
  FixtureModel model;
  Fixture qa = Qa("qa", 2);
  const Batch rows = qa.Rows(0, 3);
  const Execution sequential{.way = {Mode::kSequential}}, joint{.way = {Mode::kJoint}};
  ContractCheck check(model, at::kCPU);
  StepExecutor executor(model, at::kCPU, &check);
  executor.Run({{qa.task.get(), &rows, &joint}});
  EXPECT_FALSE(check.Knows(*qa.task)) << "joint needs none";
  executor.Begin({{qa.task.get(), &rows, &sequential}});
  EXPECT_TRUE(check.Knows(*qa.task));
  model.encodings_made = 0;
  executor.Begin({{qa.task.get(), &rows, &sequential}, {qa.task.get(), &rows, &sequential}});
  EXPECT_EQ(model.encodings_made, 0);
  ClearGradients(model);
}

TEST(Contract, ASecondForwardNamesBothNumbers) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) {
    context.Forward({context.Image("picture")}, {"y"});
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q0'", "2 forwards", "exactly 1"}));
}

// One answer fewer than its spec says.
class NarrowModel : public FixtureModel {
 public:
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    ModelOutputs outputs = FixtureModel::Forward(inputs, wanted, context);
    outputs["y"] = outputs["y"].narrow(1, 0, kClasses - 1);
    return outputs;
  }
};

TEST(Contract, AnOutputOfAnotherShapeThanTheModelsSpecSaysIsRefused) {
  const NarrowModel model;
  const Odd odd;
  Fixture fixture(odd.info, odd.script);
  ContractCheck check(model, at::kCPU);
  EXPECT_TRUE(Says(MessageOf([&] { check.Check(*fixture.task, Fixture::Range(1)); }),
                   {"'q0' got a wrong 'y' from the model: expected [rows, 5] float", ", 4]"}));
}

TEST(Contract, APassWithoutAForwardIsRefused) {
  Odd odd;
  odd.script.run = [](const std::string& pass, PassContext& context) -> Sums {
    if (pass == "q1") return {};
    return QaPass(pass, context);
  };
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "0 forwards", "exactly 1"}));
}

TEST(Contract, AnUndeclaredConstantIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) { context.Constant("replies"); });
  EXPECT_TRUE(Says(odd.Message(), {"'replies'", "declared: table"}));
}

TEST(Contract, AConstantThatIsNeverUsedIsADifference) {
  Odd odd;
  odd.info.constants.push_back({.name = "spare", .rows = 6, .width = kWords, .dtype = "float32"});
  EXPECT_TRUE(Says(odd.Message(), {"'spare'", "asked for: table"}));
}

TEST(Contract, AnotherPictureThanDeclaredNamesBoth) {
  Odd odd;
  odd.info.variants[0].passes[1].images = {"portrait"};
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "'picture'", "portrait"}));
}

TEST(Contract, ADeclaredPictureThatIsNotReadIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[1].images = {"picture", "second"};
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "picture, second", "but it was picture"}));
}

TEST(Contract, APictureThatIsNoColumnIsADifference) {
  Odd odd;
  odd.script.run = [](const std::string& pass, PassContext& context) -> Sums {
    const at::Tensor words =
        context.Constant("table").index_select(0, context.batch().Column("words_" + pass));
    const at::Tensor y = context
                             .Forward({{.name = "images", .tensor = context.Pixels("picture"), .key = ""},
                                       {.name = "tokens", .tensor = words, .key = ""}},
                                      {"y"})
                             .at("y");
    return {{"answer", y.sum()}, {"size", y.sum()}};
  };
  EXPECT_TRUE(Says(odd.Message(), {"picture", "no column and no carry"}));
}

TEST(Contract, AMissingTermIsADifference) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums.erase("size"); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "returned by no pass"}));
}

TEST(Contract, ATermWithoutAGradientIsADifferenceUnlessItsWeightIs0) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["size"] = sums["size"].detach(); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "with a graph", "weight 0"}));
  odd.info.variants[0].terms[1].weight = 0;
  EXPECT_EQ(odd.Message(), "nothing was thrown");
  Odd half;  // one pass that teaches it is enough, where that is meant
  half.info.variants[0].terms[1].stops_gradient = true;
  half.Also([](const std::string& pass, PassContext&, Sums& sums) {
    if (pass == "q0") sums["size"] = sums["size"].detach();
  });
  EXPECT_EQ(half.Message(), "nothing was thrown");
  half.info.variants[0].terms[1].stops_gradient = false;
  EXPECT_TRUE(Says(half.Message(), {"term 'size' is not how it changes", ".stops_gradient = true"}));
}

TEST(Contract, ATaskThatTrainsNothingIsRefusedWhereParametersAreFrozen) {
  const Odd odd;
  const auto message = [&](const std::string& trained) {
    FixtureModel model;
    for (const Parameter& parameter : model.parameters())
      at::Tensor(parameter.tensor).set_requires_grad(parameter.name.starts_with(trained));
    Fixture fixture(odd.info, odd.script);
    ContractCheck check(model, at::kCPU);
    return MessageOf<InputError>([&] { check.Check(*fixture.task, Fixture::Range(1)); });
  };
  EXPECT_TRUE(Says(message("picture"), {"task 'odd'", "none of its terms", "optimizer.groups"}));
  EXPECT_EQ(message("encoder"), "nothing was thrown");
}

TEST(Contract, AnUndeclaredTermIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["extra"] = sums["size"]; });
  EXPECT_TRUE(Says(odd.Message(), {"'extra'", "answer, size"}));
}

TEST(Contract, ATermMustBeOneSum) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["size"] = sums["size"].expand({3}); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "[3]", "one floating-point sum"}));
  for (const at::Tensor& wrong : {at::Tensor(), at::ones({}, at::kLong)}) {
    Odd other;
    other.Also([wrong](const std::string&, PassContext&, Sums& sums) { sums["size"] = wrong; });
    EXPECT_TRUE(Says(other.Message(), {"'size'", "one floating-point sum"}));
  }
}

TEST(Contract, AnUndeclaredCarryIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) { context.Carry("state", at::ones({1, 2})); });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "declared: none"}));
}

TEST(Contract, ACarryHasRowsFirst) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums&) {
    if (pass == "q0") context.Carry("state", at::ones({4, 2}));
  });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "1 rows", "[4, 2]"}));
}

TEST(Contract, ACarryThatNobodyReadsIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].reshape({1}));
  });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "read by no pass"}));
}

TEST(Contract, ADetachedCarryIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].detach().reshape({1}));
    if (pass == "q1") sums["size"] = sums["size"] + context.Carried("state").sum();
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "'state'", "no gradient"}));
}

TEST(Contract, ATensorHiddenInAMemberNamesBothPasses) {
  Odd odd;
  auto hidden = std::make_shared<at::Tensor>();
  odd.Also([hidden](const std::string& pass, PassContext&, Sums& sums) {
    if (pass == "q0") *hidden = sums["size"] * 2;
    if (pass == "q1") sums["size"] = sums["size"] + *hidden;
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1' depends on pass 'q0'", "no declared carry"}));
}

TEST(Contract, ACarryDoesNotExcuseAnotherTensorOfThatPass) {
  Odd odd;
  auto hidden = std::make_shared<at::Tensor>();
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([hidden](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].reshape({1}));
    if (pass == "q0") *hidden = sums["answer"] * 2;
    if (pass == "q1") sums["size"] = sums["size"] + context.Carried("state").sum() + *hidden;
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1' depends on pass 'q0'"}));
}

TEST(Contract, ATextWiderThanDeclaredIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].text_width = kWords - 1;
  EXPECT_TRUE(Says(odd.Message(), {"'q0'", "at most 3", "was 4"}));
}

TEST(Contract, AnUndeclaredModelInputOrOutputIsADifference) {
  Odd odd;
  odd.info.inputs = {"images"};
  EXPECT_TRUE(Says(odd.Message(), {"model inputs", "tokens"}));
  Odd unused;
  unused.info.inputs = {"images", "tokens", "lengths"};
  EXPECT_TRUE(
      Says(unused.Message(), {"model input 'lengths'", "handed in by no pass (handed in: images, tokens)"}));
  Odd picture;
  picture.info.variants[0].passes[0].decodes_image = true;
  EXPECT_TRUE(Says(picture.Message(), {"asks the model for a picture", "yes", "no"}));
}

TEST(Contract, AnInputThatTheModelLacksListsThoseThatItHas) {
  Odd odd;
  odd.script.run = [](const std::string&, PassContext& context) -> Sums {
    context.Forward({{.name = "frames", .tensor = at::ones({1}), .key = ""}}, {"y"});
    return {};
  };
  EXPECT_TRUE(Says(odd.Message(), {"'frames'", "images, tokens"}));
  odd.script.run = [](const std::string&, PassContext& context) -> Sums {
    context.Forward({context.Image("picture")}, {"logits"});
    return {};
  };
  EXPECT_TRUE(Says(odd.Message(), {"'logits'", "y, image"}));
}

TEST(Contract, ItemsMustBeCountedAndWithinTheSpec) {
  Odd odd;
  odd.script.sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.SetItems("answer", at::ones({rows.count}, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"no items", "'size'"}));
  odd.script.sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.SetItems("answer", at::full({rows.count}, 19, at::kLong));
    batch.SetItems("size", at::ones({rows.count}, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"19 items", "0 to 18"}));
}

constexpr std::int64_t kMostAnswers = 9;

// Rows of two passes; in the first, as many answers as `answers` says of the row with that number.
Script RowsWith(std::function<std::int64_t(std::int64_t)> answers) {
  const auto sample = [answers](const RowRange& rows) {
    Batch batch(rows);
    batch.Add("picture", Bytes(rows, 1));
    at::Tensor items = at::zeros({rows.count}, at::kLong);
    for (int p = 0; p < 2; ++p) {
      batch.Add("words_q" + std::to_string(p), Ints(rows, 10 + p, 6));
      std::vector<std::vector<std::int64_t>> targets(static_cast<std::size_t>(rows.count));
      for (std::int64_t row = 0; row < rows.count && p == 0; ++row) {
        const std::int64_t count = rows.longest ? kMostAnswers : answers(rows.begin + row);
        targets[static_cast<std::size_t>(row)].assign(static_cast<std::size_t>(count), 2);
        items[row] = count;
      }
      batch.AddRagged("targets_q" + std::to_string(p), targets);
    }
    batch.SetItems("answer", items);
    batch.SetItems("size", at::full({rows.count}, 2, at::kLong));
    return batch;
  };
  return {.sample = sample, .run = QaPass};
}

std::int64_t Answers(PassContext& context) { return context.batch().ItemCount("answer"); }

// The check begins at row 1.
TEST(ContractRows, AWrongDeedOfRowsWithManyItemsAloneIsRefused) {
  const auto message = [](std::int64_t heavy_row) {
    Odd odd;
    odd.script = RowsWith([=](std::int64_t row) { return row == heavy_row ? 6 : row % 5; });
    odd.Also([](const std::string&, PassContext& context, Sums&) {
      if (Answers(context) == 6) context.Constant("replies");
    });
    return odd.Message();
  };
  for (const std::int64_t row : {1, 2, 7, 32})
    EXPECT_TRUE(Says(message(row), {"'replies'", "declared: table"})) << row;
  EXPECT_EQ(message(500), "nothing was thrown") << "the control: no check looks at all rows";
}

TEST(ContractRows, AWrongDeedOfRowsWithoutAnItemAloneIsRefused) {
  const auto message = [](std::int64_t empty_row) {
    Odd odd;
    odd.script = RowsWith([=](std::int64_t row) { return row == empty_row ? 0 : 1 + row % 5; });
    odd.Also([](const std::string&, PassContext& context, Sums&) {
      if (Answers(context) == 0) context.Constant("replies");
    });
    return odd.Message();
  };
  for (const std::int64_t row : {1, 2, 7, 32})
    EXPECT_TRUE(Says(message(row), {"'replies'", "declared: table"})) << row;
  EXPECT_EQ(message(1000), "nothing was thrown") << "the control: no row is without an item";
}

// What such a row does not show, others do.
TEST(ContractRows, ARowWithoutAnItemIsNoFalseAlarm) {
  const auto message = [](std::function<std::int64_t(std::int64_t)> answers) {
    Odd odd;
    odd.info.constants.push_back({.name = "spare", .rows = 6, .width = kWords, .dtype = "float32"});
    odd.script = RowsWith(std::move(answers));
    odd.Also([](const std::string&, PassContext& context, Sums& sums) {
      if (Answers(context) == 0) {
        sums.erase("answer");
      } else {
        context.Constant("spare");
      }
    });
    return odd.Message();
  };
  EXPECT_EQ(message([](std::int64_t row) { return row == 1 ? 0 : 2; }), "nothing was thrown");
  EXPECT_EQ(message([](std::int64_t row) { return row == 9 ? 2 : 0; }), "nothing was thrown");
  EXPECT_TRUE(Says(message([](std::int64_t) { return 0; }), {"'answer'", "'spare'", "by no pass"}))
      << "the control: nobody ever did what the spec says";
}

TEST(ContractRows, AColumnThatOnlyRowsWithItemsHaveIsNone) {
  Odd odd;
  const Script plain = RowsWith([](std::int64_t row) { return row % 3; });
  odd.script = plain;
  odd.script.sample = [plain](const RowRange& rows) {
    Batch batch = plain.sample(rows);
    if (batch.ItemCount("answer") == 0) return batch;
    std::vector<std::vector<std::int64_t>> marks(static_cast<std::size_t>(rows.count));
    for (std::int64_t row = 0; row < rows.count; ++row) {
      if (batch.Slice(row, 1).ItemCount("answer") > 0) marks[static_cast<std::size_t>(row)] = {1, 2};
    }
    batch.AddRagged("marks", marks);
    return batch;
  };
  EXPECT_EQ(odd.Message(), "nothing was thrown");
}

// No draw has asked for that row yet; its own will say what is wrong with it.
TEST(ContractRows, ALaterRowThatCannotBeSampledDoesNotFailTheCheck) {
  const auto message = [](std::int64_t first_bad) {
    Odd odd;
    odd.script.sample = [first_bad](const RowRange& rows) {
      if (rows.begin + rows.count > first_bad) throw Error("there is no such row");
      return QaRows(rows, 2);
    };
    return odd.Message();
  };
  for (const std::int64_t first_bad : {2, 3, 6, 20})
    EXPECT_EQ(message(first_bad), "nothing was thrown") << "the check begins at 1, without " << first_bad;
  EXPECT_TRUE(Says(message(1), {"there is no such row"}));
}

TEST(ContractRows, OnlyATaskThatPassedIsKnown) {
  FixtureModel model;
  ContractCheck check(model, at::kCPU);
  Fixture good = Qa("good", 2);
  EXPECT_FALSE(check.Knows(*good.task));
  check.Check(*good.task, Fixture::Range(3));
  EXPECT_TRUE(check.Knows(*good.task));
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) { context.Constant("replies"); });
  Fixture bad(odd.info, odd.script);
  EXPECT_THROW(check.Check(*bad.task, Fixture::Range(3)), Error);
  EXPECT_FALSE(check.Knows(*bad.task));
}

TEST(ContractRows, ASampleThatDrawsFromLibtorchsGeneratorIsRefusedAndLeavesItWhereItWas) {
  Odd odd;
  odd.script.sample = [](const RowRange& rows) {
    at::rand({3});
    return QaRows(rows, 2);
  };
  const nlohmann::json generators = SaveGenerators(at::kCPU);
  EXPECT_TRUE(Says(odd.Message(), {"odd", "while sampling", "rows.Random(row)"}));
  EXPECT_EQ(SaveGenerators(at::kCPU), generators);
}

TEST(ContractSums, ATermThatIsAMeanOrCountsNeighboursNamesPassAndTerm) {
  Odd mean;
  mean.Also([](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q1") sums["size"] = sums["size"].div(context.batch().size());
  });
  EXPECT_TRUE(Says(mean.Message(), {"pass 'q1'", "term 'size'", "together", "never means"}));
  Odd coupled;
  coupled.Also([](const std::string&, PassContext& context, Sums& sums) {
    sums["size"] = sums["size"].mul(context.batch().size());
  });
  EXPECT_TRUE(Says(coupled.Message(), {"pass 'q0'", "term 'size'", "together"}));
}

TEST(ContractSums, AFigureOfWeight0MayJump) {
  Odd odd;
  odd.info.variants[0].terms[1].weight = 0;
  odd.Also([](const std::string&, PassContext& context, Sums& sums) {
    sums["size"] = sums["size"].detach().div(context.batch().size());
  });
  EXPECT_EQ(odd.Message(), "nothing was thrown");
}

TEST(ContractRows, RowsThatDifferByTheRangeNameTheColumn) {
  Odd odd;
  odd.script.sample = [](const RowRange& rows) {
    Batch batch = QaRows(rows, 2);
    batch.Add("place", at::full({rows.count}, rows.begin, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"'odd'", "Sample", "the column 'place'", "in another range"}));
}

TEST(ContractRows, RowsThatDependOnEarlierCallsAreToldFromThose) {
  Odd odd;
  auto calls = std::make_shared<std::int64_t>(0);
  odd.script.sample = [calls](const RowRange& rows) {
    Batch batch = QaRows(rows, 2);
    batch.Add("call", at::full({rows.count}, ++*calls, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"the column 'call'", "when it was asked for again", "rows.Random(row)"}));
}

TEST(ContractLongest, ARowLongerThanTheLongestIsFoundInALaterDrawToo) {
  FixtureModel model;
  Odd odd;
  odd.script.sample = [](const RowRange& rows) {
    Batch batch = QaRows(rows, 2);
    const bool is_late = rows.begin >= 100;
    batch.AddRagged("marks", std::vector<std::vector<std::int64_t>>(
                                 static_cast<std::size_t>(rows.count),
                                 std::vector<std::int64_t>(is_late && !rows.longest ? 4 : 2, 1)));
    return batch;
  };
  Fixture fixture(odd.info, odd.script);
  ContractCheck check(model, at::kCPU);
  check.Check(*fixture.task, Fixture::Range(1));
  EXPECT_NO_THROW(check.Watch(*fixture.task, fixture.Rows(40, 4)));
  EXPECT_TRUE(Says(MessageOf([&] { check.Watch(*fixture.task, fixture.Rows(100, 4)); }),
                   {"'odd'", "row 100", "4 items in the ragged column 'marks'", "at most 2 in 256 rows",
                    "RowRange::longest"}));
}

TEST(ContractRepeat, AKeptTensorIsFoundHoweverSmallItsEffect) {
  Odd odd;
  auto kept = std::make_shared<at::Tensor>();
  odd.Also([kept](const std::string& pass, PassContext&, Sums& sums) {
    if (pass == "q1" && kept->defined()) sums["size"] = sums["size"].add(kept->mul(1e-9));
    if (pass == "q0") *kept = sums["size"].detach();
  });
  EXPECT_TRUE(Says(odd.Message(), {"pass 'q1'", "the term 'size'", "look at Run"}));
}

}  // namespace
}  // namespace medley
