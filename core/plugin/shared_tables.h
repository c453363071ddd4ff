#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace medley {

// Tables of tasks of one kind that have the same values: a device has each of them once, and it lives as long
// as one of the tasks keeps it. On the trainer's thread.
class SharedTables {
 public:
  // Which table it is: this constant of the kind, with these values. On the CPU, contiguous.
  static std::string KeyOf(const std::string& kind, std::string_view constant, const at::Tensor& table);

  // Undefined where no task keeps it on that device.
  at::Tensor Find(const std::string& key, at::Device device) const;
  // On the device that it is on. Does not keep it alive.
  void Add(const std::string& key, const at::Tensor& table);

 private:
  using Kept = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  std::map<std::pair<std::string, std::string>, Kept> tables_;  // by key and device
};

}  // namespace medley
