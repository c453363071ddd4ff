#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/task.h>
#include <medley/task/text_rows.h>

namespace medley {

// The texts of a list, one of which each row shows and none of which is learned. Tokens are looked up in the
// constant of the list's name; columns are NAME.prompt and NAME.lengths.
class Prompts {
 public:
  Prompts(const TaskContext& context, std::string name, const TextList& list);

  // The text of a row: see TextTable.
  std::int64_t Draw(const RowRange& rows, RowRandom& random) const { return table_.Draw(rows, random); }
  // Adds the columns: `texts` of each row, or drawn ones.
  void Add(Batch& batch, const std::vector<std::int64_t>& texts) const;
  void AddDrawn(Batch& batch) const;

  // The inputs of a forward: the pictures, and behind them what the model is given to reply to.
  ModelInputs Inputs(ModelInputs pictures, PassContext& context) const;
  TextPart Part(PassContext& context) const;
  at::Tensor Constant() const { return table_.Tokens(); }

 private:
  std::string name_, constant_;
  TextTable table_;
};

}  // namespace medley
