#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

#include <medley/model/model.h>
#include <medley/task/batch.h>

namespace medley {

// ModelInput::key of a picture: which column of the batch it is, or which carry.
std::string ColumnKey(std::string_view column);
std::string CarryKey(std::string_view carry);
// The column or carry of such a key.
std::string NameOfKey(const std::string& key);

// What the passes over one batch look at: its byte columns as floats, and carries.
class PassImages {
 public:
  using Tensors = std::map<std::string, at::Tensor, std::less<>>;

  // `dtype`: of the floats. Keeps the reference.
  PassImages(const Batch& batch, at::ScalarType dtype) : batch_(batch), dtype_(dtype) {}
  PassImages(const PassImages&) = delete;
  PassImages& operator=(const PassImages&) = delete;

  // A byte column as floats in [0, 1], made once; read only.
  at::Tensor Pixels(std::string_view column);
  // The carry of this name, or else the column.
  ModelInput Image(std::string_view name);
  // Frees the floats of those columns for which `is_over` holds.
  template <typename IsOver>
  void ForgetPixels(const IsOver& is_over) {
    std::erase_if(pixels_, [&](const auto& column) { return is_over(column.first); });
  }

  // Keeps a carry, in the place of the one that was there.
  void Carry(std::string_view name, at::Tensor value);
  // The carry of this name; undefined where there is none. After TakeCarry there is none.
  at::Tensor Carried(std::string_view name) const;
  at::Tensor TakeCarry(std::string_view name);
  const Tensors& carries() const { return carries_; }

 private:
  const Batch& batch_;
  at::ScalarType dtype_;
  Tensors pixels_, carries_;
};

}  // namespace medley
