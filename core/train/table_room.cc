#include <medley/train/table_room.h>

#include <algorithm>

namespace medley {

std::int64_t TableRoom::BytesOf(const FormId& form, CountedTables* counted) const {
  const LoadedTask* task = host_.Find(form);
  return task == nullptr ? 0 : task->ConstantBytes(device_, counted);
}

std::int64_t TableRoom::BytesBeside(const FormId& form) const {
  CountedTables counted;
  BytesOf(form, &counted);
  std::int64_t bytes = 0;
  for (const FormId& other : used_) bytes += BytesOf(other, &counted);
  return bytes;
}

// Of others than the task's form, until they take no more than the room. Returns what they take.
std::int64_t TableRoom::Drop(const std::string& task, std::int64_t room) {
  const FormId form = plan_.IdOf(task);
  // Who was planned and never used since has tables too.
  for (const auto& [known, execution] : plan_.executions()) {
    if (std::ranges::find(used_, known) == used_.end()) used_.insert(used_.begin(), known);
  }
  std::erase(used_, form);
  std::int64_t taken = BytesBeside(form);
  for (const FormId& other : used_) {
    if (taken <= room) break;
    if (BytesOf(other) == 0) continue;
    host_.Find(other)->DropConstants(device_);
    taken = BytesBeside(form);  // a table goes with the last task that shares it
  }
  used_.push_back(form);
  return taken;
}

std::int64_t TableRoom::MakeRoom(const std::string& task) {
  const std::optional<std::int64_t> room = plan_.RoomForOthersTables(task);
  return room ? Drop(task, *room) : 0;
}

void TableRoom::Restore(const std::string& task) {
  LoadedTask* const loaded = host_.Find(plan_.IdOf(task));
  if (loaded != nullptr && loaded->SharesTables()) return loaded->BuildShared(device_);
  if (plan_.RoomForOthersTables(task)) host_.Get(plan_.FormOf(task)).RestoreConstants(device_);
}

void TableRoom::MakeAllRoom(const std::string& task) {
  if (plan_.RoomForOthersTables(task)) Drop(task, 0);
}

}  // namespace medley
