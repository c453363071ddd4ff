#include <medley/task/tensors.h>

#include <c10/core/ScalarType.h>

namespace medley {

at::Tensor RandomNumbers(RowRandom& random, at::IntArrayRef shape, double low, double high) {
  at::Tensor numbers = at::empty(shape, at::kFloat);
  auto* value = numbers.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) value[i] = static_cast<float>(random.Uniform(low, high));
  return numbers;
}

}  // namespace medley
