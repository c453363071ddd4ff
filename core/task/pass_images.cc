#include <medley/task/pass_images.h>

#include <utility>

namespace medley {

std::string ColumnKey(std::string_view column) { return "batch:" + std::string(column); }
std::string CarryKey(std::string_view carry) { return "carry:" + std::string(carry); }
std::string NameOfKey(const std::string& key) { return key.substr(key.find(':') + 1); }

at::Tensor PassImages::Pixels(std::string_view column) {
  const auto kept = pixels_.find(column);
  if (kept != pixels_.end()) return kept->second;
  return pixels_.emplace(column, batch_.Picture(column, dtype_)).first->second;
}

ModelInput PassImages::Image(std::string_view name) {
  const auto carried = carries_.find(name);
  if (carried != carries_.end()) return {.name = "images", .tensor = carried->second, .key = CarryKey(name)};
  return {.name = "images", .tensor = Pixels(name), .key = ColumnKey(name)};
}

void PassImages::Carry(std::string_view name, at::Tensor value) {
  carries_.insert_or_assign(std::string(name), std::move(value));
}

at::Tensor PassImages::Carried(std::string_view name) const {
  const auto found = carries_.find(name);
  return found == carries_.end() ? at::Tensor() : found->second;
}

at::Tensor PassImages::TakeCarry(std::string_view name) {
  const auto found = carries_.find(name);
  if (found == carries_.end()) return {};
  return std::move(carries_.extract(found).mapped());
}

}  // namespace medley
