#pragma once

// Tasks whose rows differ in length, and can be asked for their longest.

#include <string>

#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {

constexpr std::int64_t kMostItems = 9;

// As QaRows; the longest rows have every item that the spec allows.
inline Batch LongQaRows(const RowRange& rows, int passes) {
  if (!rows.longest) return QaRows(rows, passes, kMostItems);
  Batch batch(rows);
  batch.Add("picture", Bytes(rows, 1));
  for (int p = 0; p < passes; ++p) {
    const std::string pass = "q" + std::to_string(p);
    batch.Add("words_" + pass, Ints(rows, 10 + p, 6));
    batch.AddRagged("targets_" + pass, std::vector<std::vector<std::int64_t>>(
                                           rows.count, std::vector<std::int64_t>(kMostItems, 1)));
  }
  batch.SetItems("answer", at::full({rows.count}, kMostItems * passes, at::kLong));
  batch.SetItems("size", at::full({rows.count}, passes, at::kLong));
  return batch;
}

inline Fixture LongQa(const std::string& name, int passes) {
  return Fixture(
      QaInfo(name, passes, kMostItems),
      {.sample = [passes](const RowRange& rows) { return LongQaRows(rows, passes); }, .run = QaPass});
}

}  // namespace medley::testing_fixture
