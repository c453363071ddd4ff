#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/task/drivers/row.h>
#include <medley/task/task.h>

namespace medley {

// What rows hand the model: a tensor for each input of a spec, without the dimension of rows, of one shape in
// every row. A tensor of bytes is a picture: the model sees floats in [0, 1].
class InputColumns {
 public:
  explicit InputColumns(const NameList& names) : names_(names), columns_(names.size()) {}

  // An Error names a row that has another number of them.
  void Add(const Row& row, std::vector<at::Tensor> inputs);
  // Columns by the names of the inputs.
  void MoveTo(Batch& batch);

 private:
  const NameList& names_;
  std::vector<std::vector<at::Tensor>> columns_;
};

// The first output of the spec, for the columns of such a batch.
at::Tensor OutputOfColumns(const TaskSpec& spec, PassContext& context);
// What a sheet shows of such a batch, on the CPU: the first input that can be drawn (task/drawings.h), bytes
// [rows, 3, height, width]; undefined: none.
at::Tensor ShownColumn(const NameList& names, const Batch& rows);

}  // namespace medley
