#include <medley/plugin/loaded_task.h>

#include <c10/core/Allocator.h>
#include <c10/core/GradMode.h>

#include <utility>

#include <medley/data/last_read.h>
#include <medley/plugin/with_tensors.h>

#include "plugin_call.h"

namespace medley {
namespace {

std::string Describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return c10::str(tensor.sizes(), " ", tensor.scalar_type(), " on ", tensor.device());
}

std::string Span(const RowRange& rows) {
  return "rows " + std::to_string(rows.begin) + ".." + std::to_string(rows.begin + rows.count);
}

const ConstantInfo& FindConstant(const TaskInfo& info, std::string_view name) {
  std::string known;
  for (const ConstantInfo& constant : info.constants) {
    if (constant.name == name) return constant;
    known += (known.empty() ? "" : ", ") + constant.name;
  }
  throw Error("the spec has no constant '" + std::string(name) + "'; it declares " +
              (known.empty() ? "none" : known));
}

void CheckConstant(const ConstantInfo& info, const at::Tensor& tensor) {
  const at::ScalarType dtype = info.dtype == "int64" ? at::kLong : at::kFloat;
  if (tensor.defined() && tensor.device().is_cpu() && tensor.scalar_type() == dtype &&
      tensor.sizes() == at::IntArrayRef({info.rows, info.width})) {
    return;
  }
  throw Error("the spec declares " + c10::str("[", info.rows, ", ", info.width, "] ", info.dtype, " on cpu") +
              ", the task built " + Describe(tensor));
}

// A view would keep, and not count, what it is a view of; and what somebody else holds is not ours to drop. A
// table that is nobody else's is not copied: it may be most of what there is room for.
at::Tensor WithItsOwnMemory(at::Tensor& built) {
  const c10::Storage& storage = built.storage();
  const bool is_ours =
      built.use_count() == 1 && storage.use_count() == 1 && built.is_contiguous() &&
      storage.nbytes() == built.nbytes() && !built.requires_grad() &&
      storage.data_ptr().get_deleter() == c10::GetAllocator(c10::DeviceType::CPU)->raw_deleter();
  return is_ours ? std::move(built) : built.detach().clone(at::MemoryFormat::Contiguous);
}

// Errors name the place in the data file where what was read last stands.
template <typename Fn>
auto WithPlaceOfData(const Fn& fn) {
  ForgetRead();
  return WithOtherWords(fn, WithPlace, [](const char* what) { ThrowOfLastRead(what); });
}

void CheckOutcomes(const Outcomes& outcomes, std::int64_t rows) {
  const auto check = [&](const std::string& what, const std::vector<double>& values) {
    if (static_cast<std::int64_t>(values.size()) == rows) return;
    throw Error("an outcome for each of the " + std::to_string(rows) + " rows was expected, got " +
                std::to_string(values.size()) + " for " + what);
  };
  check("the score", outcomes.score);
  for (const auto& [name, values] : outcomes.trivial) check("the trivial answer '" + name + "'", values);
  for (const auto& [name, figure] : outcomes.figures) check("the figure '" + name + "'", figure.rows);
}

}  // namespace

LoadedTask::LoadedTask(const TaskInfo& info, const VariantInfo& variant, std::string plugin,
                       std::unique_ptr<Task> task, bool reads_files, TaskMaker again, bool in_python)
    : info_(info),
      variant_(variant),
      plugin_(std::move(plugin)),
      task_(std::move(task)),
      reads_files_(reads_files),
      again_(std::move(again)),
      in_python_(in_python) {}

std::unique_ptr<LoadedTask> LoadedTask::Again() const {
  if (!again_) return nullptr;
  const GlobalStateGuard guard(HashName(info_.name));
  return std::make_unique<LoadedTask>(info_, variant_, plugin_,
                                      CallPlugin(plugin_, info_.name, "making the task once more", again_),
                                      reads_files_, TaskMaker(), in_python_);
}

// Which of several rows an error is about, only the task knows: it is asked for each alone, which throws for
// that one, with its place. A row is the same in any range, so the error is another one only if the task
// breaks that.
Batch LoadedTask::SampleWithPlace(const RowRange& rows) const {
  const auto sample = [&](const RowRange& some) { return task_->Sample(some); };
  if (rows.count <= 1) return WithPlaceOfData([&] { return sample(rows); });
  try {
    return sample(rows);
  } catch (const std::exception& error) {
    for (std::int64_t row = 0; row < rows.count && !Passes(error); ++row)
      WithPlaceOfData([&] { return sample(rows.Part(row, 1)); });
    throw;
  }
}

Batch LoadedTask::Sample(const RowRange& rows) const {
  return CallPlugin(plugin_, info_.name, "sampling " + Span(rows), [&] {
    Batch batch = SampleWithPlace(rows);
    const RowRange& got = batch.rows();
    if (got.seed != rows.seed || got.begin != rows.begin || got.count != rows.count) {
      throw Error("the batch says that it holds " + Span(got));
    }
    return batch;
  });
}

std::string LoadedTask::NameRow(const RowRange& rows, std::int64_t row) const {
  const std::string name = "row " + std::to_string(row);
  const RowRange alone = rows.Part(row - rows.begin, 1);
  try {
    return CallPlugin(plugin_, info_.name, "sampling " + Span(alone), [&] {
      ForgetRead();
      task_->Sample(alone);
      const std::string place = PlaceOfLastRead();
      return place.empty() ? name : name + " (" + place + ")";
    });
  } catch (const std::exception&) {  // words about another error are being made
    return name;
  }
}

Sums LoadedTask::Run(std::string_view pass, PassContext& context, const TensorWords& tensors) const {
  return CallPlugin(plugin_, info_.name, "running pass " + std::string(pass),
                    [&] { return WithTensors(plugin_, tensors, [&] { return task_->Run(pass, context); }); });
}

Outcomes LoadedTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  return CallPlugin(plugin_, info_.name, "evaluating " + Span(rows), [&] {
    Outcomes outcomes = task_->Evaluate(context, rows);
    CheckOutcomes(outcomes, rows.count);
    return outcomes;
  });
}

const ItemStream* LoadedTask::Items() const {
  return CallPlugin(plugin_, info_.name, "asking for its items", [&] { return task_->Items(); });
}

std::int64_t LoadedTask::CacheBytes() const {
  return CallPlugin(plugin_, info_.name, "asking for the bytes of its cache",
                    [&] { return task_->CacheBytes(); });
}

AskForm LoadedTask::Asks() const {
  return CallPlugin(plugin_, info_.name, "asking how it is asked", [&] { return task_->Asks(); });
}

Asked LoadedTask::Ask(const Questions& questions) const {
  return CallPlugin(plugin_, info_.name, "asking it", [&] { return task_->Ask(questions); });
}

std::optional<double> LoadedTask::Chance() const {
  const ScoreInfo& score = info_.score;
  return reads_files_ && !score.chance_of_any_rows ? std::nullopt : score.chance;
}

at::Tensor LoadedTask::Build(const ConstantInfo& constant) {
  const GlobalStateGuard guard(CombineSeeds(HashName(info_.name), HashName(constant.name)));
  c10::GradMode::set_enabled(false);
  at::Tensor built = task_->Constant(constant.name);
  CheckConstant(constant, built);
  at::Tensor table = WithItsOwnMemory(built);
  if (shared_ == nullptr) return table;
  const std::string key = SharedTables::KeyOf(kind_, constant.name, table);
  shared_tables_[constant.name] = {.key = key, .bytes = static_cast<std::int64_t>(table.nbytes())};
  if (at::Tensor there = shared_->Find(key, at::kCPU); there.defined()) return there;
  shared_->Add(key, table);
  return table;
}

at::Tensor LoadedTask::FindShared(const std::string& constant, at::Device device) const {
  const auto known = shared_tables_.find(constant);
  return known == shared_tables_.end() ? at::Tensor() : shared_->Find(known->second.key, device);
}

at::Tensor LoadedTask::Constant(std::string_view name, at::Device device) {
  return CallPlugin(plugin_, info_.name, "building constant " + std::string(name), [&] {
    const ConstantInfo& constant = FindConstant(info_, name);
    auto& places = constants_[constant.name];
    if (const auto found = places.find(device); found != places.end()) return found->second;
    if (const at::Tensor there = FindShared(constant.name, device); there.defined())
      return places.emplace(device, there).first->second;
    auto on_host = places.find(at::kCPU);
    if (on_host == places.end()) on_host = places.emplace(at::kCPU, Build(constant)).first;
    if (device.is_cpu()) return on_host->second;
    at::Tensor moved = FindShared(constant.name, device);
    if (!moved.defined()) {
      moved = ToDevice(on_host->second, device);
      if (shared_ != nullptr) shared_->Add(shared_tables_.at(constant.name).key, moved);
    }
    places.emplace(device, moved);
    return moved;
  });
}

std::int64_t LoadedTask::ConstantBytes(at::Device device, CountedTables* counted) const {
  std::int64_t bytes = 0;
  for (const auto& [name, places] : constants_) {
    const auto found = places.find(device);
    if (found == places.end()) continue;
    if (counted != nullptr && !counted->insert(found->second.const_data_ptr()).second) continue;
    bytes += static_cast<std::int64_t>(found->second.nbytes());
  }
  return bytes;
}

void LoadedTask::DropConstants(at::Device device) {
  for (auto& [name, places] : constants_) places.erase(device);
}

void LoadedTask::ShareTables(SharedTables& tables, std::string kind) {
  shared_ = &tables;
  kind_ = std::move(kind);
}

std::map<std::string, std::int64_t> LoadedTask::SharedTableBytes() const {
  std::map<std::string, std::int64_t> bytes;
  for (const auto& [name, table] : shared_tables_) bytes[table.key] = table.bytes;
  return bytes;
}

void LoadedTask::BuildShared(at::Device device) {
  if (shared_ == nullptr) return;
  for (const ConstantInfo& constant : info_.constants) Constant(constant.name, device);
}

void LoadedTask::RebuildConstants(at::Device device) {
  if (shared_ == nullptr) return RestoreConstants(device);
  const std::map<std::string, Shared, std::less<>> tables = std::exchange(shared_tables_, {});
  SharedTables* const shared = std::exchange(shared_, nullptr);
  RestoreConstants(device);
  shared_ = shared;
  shared_tables_ = tables;
  DropConstants(device);
  RestoreConstants(device);
}

void LoadedTask::RestoreConstants(at::Device device) {
  for (const auto& [name, places] : constants_) Constant(name, device);
}

}  // namespace medley
