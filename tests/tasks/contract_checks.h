#pragma once

#include "tests/tasks/task_testing.h"

namespace medley::tasks {

// What holds of every task, whoever wrote it: that it is what its spec declares, in nine rows.
inline constexpr RowRange kContractRows{7, 100, 9};

inline void ExpectConstantsAsDeclared(const TaskInfo& spec) {
  const TaskUnderTest test(spec.name);
  for (const ConstantInfo& constant : spec.constants) {
    const at::Tensor table = test.task->Constant(constant.name);
    EXPECT_EQ(table.sizes(), at::IntArrayRef({constant.rows, constant.width})) << constant.name;
    EXPECT_EQ(table.scalar_type(), at::kLong);
  }
}

inline void ExpectPassesAsDeclared(const TaskInfo& spec, const VariantInfo& variant) {
  const TaskUnderTest test(spec.name, 128, variant.name);
  const Batch batch = test.task->Sample(kContractRows);
  std::set<std::string> terms, constants;
  Carries carries;
  for (const PassInfo& declared : variant.passes) {
    FakePass pass(test, batch, &carries);
    const Sums sums = test.task->Run(declared.name, pass);
    EXPECT_EQ(pass.forwards, 1);
    std::vector<std::string> images;
    for (const ModelInput& input : pass.inputs) {
      if (input.name == "images") images.push_back(input.key.substr(input.key.find(':') + 1));
    }
    EXPECT_EQ(images, declared.images) << "in this order";
    std::set<std::string> made(declared.carries.begin(), declared.carries.end());
    made.insert(declared.keeps.begin(), declared.keeps.end());
    EXPECT_EQ(pass.made, made);
    EXPECT_EQ(pass.draws(), declared.decodes_image);
    EXPECT_LE(pass.Input("tokens").size(1), declared.text_width);
    EXPECT_EQ(pass.Input("lengths").sizes(), at::IntArrayRef({kContractRows.count}));
    EXPECT_TRUE(pass.Input("lengths").le(pass.Input("tokens").size(1)).all().item<bool>());
    constants.insert(pass.constants.begin(), pass.constants.end());
    for (const auto& [term, sum] : sums) {
      terms.insert(term);
      EXPECT_EQ(sum.dim(), 0) << term;
      // In noise there is no agent to be found.
      const bool is_figure = std::ranges::find(variant.terms, term, &TermInfo::name)->weight == 0;
      if (is_figure) continue;
      EXPECT_GE(sum.item<double>(), spec.name == "complex_loss" ? 0 : 1e-9) << term;
    }
  }
  // A row makes one pass of `fused`; a row of three is not asked whether it hits.
  const auto least = [&](const TermInfo& term) {
    return variant.name == "fused" || term.name == "will_hit" ? 0 : 1;
  };
  std::set<std::string> declared_terms, declared_constants;
  for (const TermInfo& term : variant.terms) {
    declared_terms.emplace(term.name);
    const at::Tensor items = batch.items().at(term.name);
    EXPECT_LE(items.max().item<std::int64_t>(), term.max_items) << term.name;
    EXPECT_GE(items.min().item<std::int64_t>(), least(term)) << term.name;
  }
  for (const ConstantInfo& constant : spec.constants) declared_constants.emplace(constant.name);
  EXPECT_EQ(terms, declared_terms);
  EXPECT_EQ(batch.items().size(), declared_terms.size());
  EXPECT_EQ(constants, declared_constants);
}

inline void ExpectARowIsTheSameInWhateverRange(const TaskInfo& spec, const VariantInfo& variant) {
  const TaskUnderTest test(spec.name, 128, variant.name);
  const Batch slice = test.task->Sample({3, 40, 12}).Slice(5, 4);
  const Batch alone = test.task->Sample({3, 45, 4});
  ASSERT_EQ(slice.columns().size(), alone.columns().size());
  for (const auto& [name, column] : alone.columns()) EXPECT_TRUE(slice.Column(name).equal(column)) << name;
  for (const auto& [name, column] : alone.ragged()) {
    EXPECT_TRUE(slice.Ragged(name).values.equal(column.values)) << name;
    EXPECT_TRUE(slice.Ragged(name).item_row.equal(column.item_row)) << name;
  }
  for (const auto& [term, items] : alone.items()) EXPECT_TRUE(slice.items().at(term).equal(items)) << term;
  const Batch other = test.task->Sample({4, 45, 4});
  bool has_padded = false;
  for (const auto& [name, column] : alone.ragged()) {
    if (!column.is_padded()) continue;
    has_padded = true;
    EXPECT_FALSE(other.Ragged(name).values.equal(column.values)) << "seeds differ: " << name;
  }
  if (has_padded) return;
  const std::string shown = variant.passes[0].images.empty() ? "tokens" : variant.passes[0].images.back();
  EXPECT_FALSE(other.Column(shown).equal(alone.Column(shown))) << "seeds differ";
}

}  // namespace medley::tasks
