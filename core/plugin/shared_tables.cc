#include <medley/plugin/shared_tables.h>

#include <medley/base/file_digest.h>

namespace medley {

std::string SharedTables::KeyOf(const std::string& kind, std::string_view constant, const at::Tensor& table) {
  RunningSum sum;
  sum.Add(table.const_data_ptr(), table.nbytes());
  return kind + "/" + std::string(constant) + "/" + sum.Hex();
}

at::Tensor SharedTables::Find(const std::string& key, at::Device device) const {
  const auto found = tables_.find({key, device.str()});
  if (found == tables_.end()) return {};
  auto kept = found->second.lock();
  return kept ? at::Tensor(std::move(kept)) : at::Tensor();
}

void SharedTables::Add(const std::string& key, const at::Tensor& table) {
  tables_.insert_or_assign({key, table.device().str()}, Kept(table.getIntrusivePtr()));
}

}  // namespace medley
