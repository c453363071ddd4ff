#include <medley/step/contract/contract_sample.h>

#include <ATen/core/Tensor.h>

#include <cstring>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
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
  throw Error("task '" + task.info().name + "': Sample gave another row " + std::to_string(row) + ", in " +
              difference + ", " + why +
              "; make a row from rows.seed and its number alone, with rows.Random(row)");
}

void CompareWith(const LoadedTask& task, const Batch& together, const RowRange& part) {
  const std::int64_t begin = part.begin - together.rows().begin;
  const Batch again = SampleAlone(task, part);
  for (std::int64_t i = 0; i < part.count; ++i) {
    const std::string difference = FirstDifference(together.Slice(begin + i, 1), again.Slice(i, 1));
    if (!difference.empty()) Refuse(task, together, part.begin + i, difference);
  }
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
  const std::string difference = FirstDifference(before, after.To(at::kCPU));
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

}  // namespace medley
