#pragma once

#include <medley/model/model.h>

namespace medley::check {

// Puts the model back into the type that it had.
class KeepType {
 public:
  explicit KeepType(Model& model) : model_(model), type_(FloatTypeOf(model)) {}
  ~KeepType() { model_.To(at::kCPU, type_); }
  KeepType(const KeepType&) = delete;
  KeepType& operator=(const KeepType&) = delete;

 private:
  Model& model_;
  at::ScalarType type_;
};

}  // namespace medley::check
