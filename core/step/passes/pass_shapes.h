#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/DimVector.h>

#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model.h>
#include <medley/task/pass_images.h>

namespace medley {

// Of what shapes the tensors are that a pass had in hand, for the words of an error. Keeps shapes alone: what
// a forward made may be let go of before its pass is over.
class PassShapes {
 public:
  void HandedIn(const ModelInputs& inputs);
  void Made(std::string_view output, const at::Tensor& tensor);

  // A line each for columns, carries, what was handed in, and what the model gave: "\n  columns: seen [2, 3,
  // 64, 64] Byte, places of 2 rows [5] Long".
  std::string Words(const Batch& batch, const PassImages::Tensors& carries) const;

 private:
  struct Shape {
    std::string name;
    c10::DimVector sizes;
    at::ScalarType type;
  };
  static Shape Of(std::string_view name, const at::Tensor& tensor);
  static std::string Listed(const std::vector<Shape>& shapes);

  std::vector<Shape> inputs_, outputs_;
};

}  // namespace medley
