#include <medley/contract/contract_sample.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/plugin/author_words.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

std::string Shapes(const at::Tensor& one, const at::Tensor& other) {
  if (one.sizes() == other.sizes()) return "";
  return c10::str(" (", one.sizes(), " and ", other.sizes(), ")");
}

// Of two maps of tensors: the first name that only one of them has, or whose tensors differ.
template <typename Map>
std::string FirstDifferenceOf(const std::string& what, const Map& one, const Map& other) {
  for (const auto& [name, tensor] : one) {
    const auto found = other.find(name);
    if (found == other.end()) return what + "'" + name + "' (only one of the two has it)";
    if (!SameBytes(tensor, found->second)) return what + "'" + name + "'" + Shapes(tensor, found->second);
  }
  for (const auto& [name, tensor] : other) {
    if (one.count(name) == 0) return what + "'" + name + "' (only one of the two has it)";
  }
  return "";
}

bool SameItems(const Batch& one, const Batch& other, const std::string& name) {
  const auto a = one.ragged().find(name), b = other.ragged().find(name);
  const auto is_empty = [](const auto& found, const Batch& batch) {
    return found == batch.ragged().end() || found->second.offsets.back() == 0;
  };
  if (is_empty(a, one) || is_empty(b, other)) return is_empty(a, one) == is_empty(b, other);
  return a->second.offsets == b->second.offsets && SameBytes(a->second.values, b->second.values);
}

// A row that came out twice. What was asked for is asked for again, which tells a range from a memory.
[[noreturn]] void Refuse(const LoadedTask& task, const Batch& asked, std::int64_t row,
                         const std::string& difference) {
  const bool remembers = !FirstDifference(asked, SampleAlone(task, asked.rows())).empty();
  const std::string why = remembers
                              ? "when it was asked for again, in the same range: Sample depends on earlier "
                                "calls (a member that counts, std::rand, a clock)"
                              : "in another range: Sample depends on rows.begin, rows.count or the place of "
                                "a row among the others (such as padding to the longest of them)";
  throw Error("task '" + task.info().name + "': " +
              InAuthorsWords("Sample gave another " + task.NameRow(asked.rows(), row) + ", in " + difference +
                                 ", " + why +
                                 "; make a row from rows.seed and its number alone, with rows.Random(row)",
                             task.in_python()));
}

void CompareWith(const LoadedTask& task, const Batch& together, const RowRange& part) {
  const std::int64_t begin = part.begin - together.rows().begin;
  const Batch again = SampleAlone(task, part);
  for (std::int64_t i = 0; i < part.count; ++i) {
    const std::string difference = FirstDifference(together.Slice(begin + i, 1), again.Slice(i, 1));
    if (!difference.empty()) Refuse(task, together, part.begin + i, difference);
  }
}

constexpr std::int64_t kFirst = 8, kMost = 256;  // rows
constexpr std::int64_t kSlack = 1, kSlackPart = 16;
constexpr char kHonour[] =
    "; honour RowRange::longest in Sample (the longest text of every table, the most items): what a draw "
    "takes "
    "is planned from such rows";

std::int64_t WithSlack(std::int64_t most) { return most + std::max(kSlack, most / kSlackPart); }

bool HoldsLengths(const ModelSpec& model, const std::string& column) {
  return std::ranges::any_of(model.sizes, [&](const ModelSize& size) {
    const std::string name(size.lengths);
    return !name.empty() && (column == name || column.ends_with("." + name));
  });
}

void Widen(RowSizes& sizes, const std::string& name, std::int64_t size, std::int64_t row) {
  RowSize& known = sizes.try_emplace(name, RowSize{size, row, size}).first->second;
  known.least = std::min(known.least, size);
  if (known.most < size) known.most = size, known.row = row;
}

void WidenByEach(RowSizes& sizes, const std::string& name, const at::Tensor& of_rows, std::int64_t first) {
  const at::Tensor values = of_rows.contiguous();
  const std::int64_t* value = values.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < values.numel(); ++row) Widen(sizes, name, value[row], first + row);
}

// "row 3 has 2 items in the ragged column 'words', row 7 has 9": in what a row has less, that has of nothing
// more; else "".
std::string Shorter(const RowSizes& one, const RowSizes& other) {
  std::string words;
  for (const auto& [name, size] : one) {
    const auto found = other.find(name);
    const std::int64_t most = found == other.end() ? 0 : found->second.most;
    if (size.most > most) return "";
    if (most > WithSlack(size.most) && words.empty())
      words = "row " + std::to_string(size.row) + " has " + std::to_string(size.most) + " " + name +
              ", row " + std::to_string(found->second.row) + " has " + std::to_string(most);
  }
  return words;
}

}  // namespace

bool SameBytes(const at::Tensor& one, const at::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) return false;
  const at::Tensor a = one.contiguous(), b = other.contiguous();
  return a.numel() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::string FirstDifference(const Batch& one, const Batch& other) {
  std::string difference = FirstDifferenceOf("the column ", one.columns(), other.columns());
  if (difference.empty())
    difference = FirstDifferenceOf("the items of the term ", one.items(), other.items());
  for (const Batch* batch : {&one, &other}) {
    for (const auto& [name, column] : batch->ragged()) {
      if (difference.empty() && !SameItems(one, other, name)) difference = "the ragged column '" + name + "'";
    }
  }
  return difference;
}

std::string WrittenTo(const Batch& before, const Batch& after) {
  const std::string difference = FirstDifference(before.To(at::kCPU), after.To(at::kCPU));
  if (difference.empty()) return "";
  return "Run changed " + difference +
         " in place, which other passes, and the same one when it runs again, read too; make a new tensor "
         "(sub() for sub_(), no copy_ into a column)";
}

void CheckSampledAgain(const LoadedTask& task, const RowRange& few_rows) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  const Batch together = SampleAlone(task, few_rows);
  for (std::int64_t i = 0; i < few_rows.count; ++i) CompareWith(task, together, few_rows.Part(i, 1));
  CompareWith(task, together, few_rows);
}

RowSizes SizesOfRows(const ModelSpec& model, const Batch& rows) {
  RowSizes sizes;
  const std::int64_t first = rows.rows().begin;
  if (rows.size() == 0) return sizes;
  for (const auto& [name, column] : rows.columns()) {
    Widen(sizes, "bytes in the column '" + name + "'",
          static_cast<std::int64_t>(column.nbytes()) / rows.size(), first);
    if (HoldsLengths(model, name) && column.dim() == 1 && column.scalar_type() == at::kLong)
      WidenByEach(sizes, "in the column '" + name + "'", column, first);
  }
  for (const auto& [name, column] : rows.ragged()) {
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      Widen(sizes, "items in the ragged column '" + name + "'", column.offsets[at + 1] - column.offsets[at],
            first + row);
    }
  }
  for (const auto& [term, items] : rows.items())
    WidenByEach(sizes, "items of the term '" + term + "'", items, first);
  return sizes;
}

void Widen(RowSizes& sizes, const RowSizes& by) {
  for (const auto& [name, size] : by) {
    Widen(sizes, name, size.most, size.row);
    Widen(sizes, name, size.least, size.row);
  }
}

LongestRows::LongestRows(const LoadedTask& task, const ModelSpec& model, const RowRange& rows)
    : task_(&task), model_(&model), rows_(rows) {
  rows_.longest = true;
  const std::int64_t first = std::min(rows.count, kFirst);
  SampleUpTo(first);
  for (std::int64_t i = 0; i < first && is_ignored_; ++i) is_ignored_ = IsSame(i);
}

// One by one: a row may be large.
void LongestRows::SampleUpTo(std::int64_t count) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  for (; sampled_ < count; ++sampled_) {
    const Batch row = SampleAlone(*task_, rows_.Part(sampled_, 1));
    CheckItems(*task_, row);
    Widen(most_, SizesOfRows(*model_, row));
  }
}

bool LongestRows::IsSame(std::int64_t row) const {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  const RowRange longest = rows_.Part(row, 1);
  RowRange plain = longest;
  plain.longest = false;
  return FirstDifference(SampleAlone(*task_, longest), SampleAlone(*task_, plain)).empty();
}

// Of all rows, and only where one has less of everything than another: rows of two kinds, each with much of
// what the other lacks, may all be as long as they can be.
void LongestRows::RefuseIgnored(const RowSizes& plain) {
  const bool is_unlike = std::ranges::any_of(
      plain, [](const auto& size) { return size.second.most > WithSlack(size.second.least); });
  if (!is_unlike) return;
  for (std::int64_t i = kFirst; i < rows_.count && is_ignored_; ++i) is_ignored_ = IsSame(i);
  if (!is_ignored_) return;
  std::vector<RowSizes> rows;
  for (std::int64_t i = 0; i < rows_.count; ++i)
    rows.push_back(SizesOfRows(*model_, SampleAlone(*task_, rows_.Part(i, 1))));
  for (const RowSizes& one : rows) {
    for (const RowSizes& other : rows) {
      const std::string shorter = Shorter(one, other);
      if (shorter.empty()) continue;
      throw Error("task '" + task_->info().name + "': " + shorter + ", but each of " +
                  std::to_string(rows_.count) +
                  " rows is the same, byte for byte, where it is asked for as long as can be" +
                  InAuthorsWords(kHonour, task_->in_python()));
    }
  }
}

// A name that no longest row has counts as 0: the rows without an item may lack a ragged column.
std::string LongestRows::Exceeded(const RowSizes& drawn) const {
  for (const auto& [name, size] : drawn) {
    const auto known = most_.find(name);
    const std::int64_t most = known == most_.end() ? 0 : known->second.most;
    if (size.most <= WithSlack(most)) continue;
    return "Sample gave row " + std::to_string(size.row) + " " + std::to_string(size.most) + " " + name +
           ", but at most " + std::to_string(most) + " in " + std::to_string(sampled_) +
           " rows that were to be as long as can be";
  }
  return "";
}

void LongestRows::Check(const RowSizes& drawn) {
  std::string exceeded = Exceeded(drawn);
  if (!exceeded.empty() && !is_ignored_ && sampled_ < kMost) {
    SampleUpTo(kMost);
    exceeded = Exceeded(drawn);
  }
  if (exceeded.empty()) return;
  throw Error(
      "task '" + task_->info().name + "': " +
      InAuthorsWords(exceeded + (is_ignored_ ? " (they were the same rows as without)" : "") + kHonour,
                     task_->in_python()));
}

}  // namespace medley
