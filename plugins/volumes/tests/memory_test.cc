// What a row keeps for its backward, by the number of its scans; memory.md has the table.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/models.h"

namespace medley_volumes {
namespace {

// 216 tokens a scan, as of 96 voxels in patches of 16.
Made MakeModel(bool fused) {
  return Made({{"volume.size", 12.0},
               {"volume.patch", 2.0},
               {"language.positions", 2048.0},
               {"attention", std::string(fused ? "fused" : "eager")}});
}

medley::check::ForwardBytes Measured(const Made& made, std::int64_t rows, std::int64_t scans) {
  const Geometry geometry = made.geometry();
  const medley::RowRange range{.seed = 1, .begin = 0, .count = rows, .longest = true};
  std::vector<Conversation> conversations;
  for (std::int64_t i = 0; i < rows; ++i) {
    medley::Row row(range, 0);  // the same for all: rows of one length
    conversations.push_back(SingleExample(row, geometry, scans));
  }
  const medley::Batch batch = made.BatchOf(conversations);
  return medley::check::MeasuredBytes(*made, InputsOf(batch, "learned"), {"logits", "targets"},
                                      {.rows = rows});
}

struct Table {
  std::vector<double> held;  // of a row with 1 to 4 scans
};

Table TableOf(bool fused) {
  const Made made = MakeModel(fused);
  Table table;
  for (std::int64_t scans = 1; scans <= kMostScans; ++scans)
    table.held.push_back(static_cast<double>(Measured(made, 4, scans).held) / 4);
  std::printf("%s:", fused ? "fused" : "eager");
  for (const double held : table.held) std::printf("  %.1f MB (%.2f)", held / 1e6, held / table.held[0]);
  std::printf("\n");
  return table;
}

TEST(Memory, GrowsWithTheScansOfARowAndFasterThanTheirNumberWhereWeightsAreKept) {
  const Table eager = TableOf(false), fused = TableOf(true);
  for (std::size_t i = 1; i < eager.held.size(); ++i) {
    EXPECT_GT(eager.held[i], eager.held[i - 1]);
    EXPECT_GT(fused.held[i], fused.held[i - 1]);
    EXPECT_GT(eager.held[i], fused.held[i]);
  }
  const auto step = [](const Table& table, std::size_t n) { return table.held[n] - table.held[n - 1]; };
  for (const std::size_t i : {2, 3}) {
    EXPECT_GT(step(eager, i), 1.1 * step(eager, i - 1));
    EXPECT_NEAR(step(fused, i) / step(fused, i - 1), 1, 0.05);
  }
  // Seed 003 has 1.87, 2.62, 3.25 for two to four scans: increments that fall, which neither kind has.
  EXPECT_GT(eager.held[3] / eager.held[0], 5);
  EXPECT_GT(fused.held[3] / fused.held[0], 3.3);
}

TEST(Memory, GrowsByTheSameBytesWithEveryRow) {
  for (const bool fused : {true, false}) {
    const Made made = MakeModel(fused);
    const std::int64_t two = Measured(made, 2, 2).held, three = Measured(made, 3, 2).held,
                       four = Measured(made, 4, 2).held;
    EXPECT_NEAR(static_cast<double>(four - three) / static_cast<double>(three - two), 1, 1e-3);
  }
}

}  // namespace
}  // namespace medley_volumes
