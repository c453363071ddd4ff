#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/task/batch.h>

namespace medley {
namespace {

// Rows with 0 to 4 items each, whose values name their row.
Batch MakeBatch(std::int64_t first, std::int64_t count) {
  Batch batch(RowRange{9, first, count});
  batch.Add("number", at::arange(first, first + count));
  batch.Add("picture", at::arange(count * 12, at::kByte).view({count, 3, 2, 2}));
  std::vector<std::vector<std::int64_t>> items(count);
  at::Tensor counts = at::zeros({count}, at::kLong);
  for (std::int64_t row = 0; row < count; ++row) {
    items[row].assign((first + row) % 5, first + row);
    counts[row] = static_cast<std::int64_t>(items[row].size());
  }
  batch.AddRagged("items", items);
  batch.SetItems("term", counts);
  return batch;
}

TEST(Batch, CountsOneItemOfEachRow) {
  Batch batch(RowRange{9, 3, 4});
  batch.CountEach("term");
  EXPECT_TRUE(batch.items().at("term").equal(at::ones({4}, at::kLong)));
  EXPECT_EQ(batch.Slice(1, 2).ItemCount("term"), 2);
}

TEST(Batch, ASliceIsTheBatchThatWouldHaveBeenDrawn) {
  const Batch whole = MakeBatch(100, 23);
  for (std::int64_t begin = 0; begin <= 23; ++begin) {
    for (std::int64_t count = 0; begin + count <= 23; count += 3) {
      const Batch slice = whole.Slice(begin, count);
      const Batch drawn = MakeBatch(100 + begin, count);
      EXPECT_EQ(slice.rows().begin, drawn.rows().begin);
      EXPECT_EQ(slice.size(), count);
      EXPECT_TRUE(slice.Column("number").equal(drawn.Column("number")));
      EXPECT_TRUE(slice.Ragged("items").values.equal(drawn.Ragged("items").values));
      EXPECT_TRUE(slice.Ragged("items").item_row.equal(drawn.Ragged("items").item_row));
      EXPECT_EQ(slice.Ragged("items").offsets, drawn.Ragged("items").offsets);
      EXPECT_EQ(slice.ItemCount("term"), drawn.ItemCount("term"));
    }
  }
}

TEST(Batch, ASliceOfASliceIsASlice) {
  const Batch slice = MakeBatch(0, 20).Slice(3, 15).Slice(2, 6);
  EXPECT_TRUE(slice.Ragged("items").item_row.equal(MakeBatch(5, 6).Ragged("items").item_row));
  EXPECT_EQ(slice.rows().begin, 5);
}

// An allocator of ours: its blocks are those of the column that a slice was taken from.
class NotedAllocator final : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    ++count;
    return c10::GetCPUAllocator()->allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  int count = 0;
};

// Page-locked memory has an allocator of its own, and only from it a copy to a GPU does not wait.
TEST(Batch, ASlicesItemRowsLieInTheSameKindOfMemory) {
  NotedAllocator noted;
  Batch batch = MakeBatch(0, 20);
  auto& column = const_cast<RaggedColumn&>(batch.Ragged("items"));
  const at::Tensor moved = at::detail::empty_generic(
      column.item_row.sizes(), &noted, c10::DispatchKeySet(c10::DispatchKey::CPU), at::kLong, std::nullopt);
  column.item_row = moved.copy_(column.item_row);
  ASSERT_EQ(noted.count, 1);
  const Batch slice = batch.Slice(3, 9);
  EXPECT_EQ(noted.count, 2);
  EXPECT_TRUE(slice.Ragged("items").item_row.equal(MakeBatch(3, 9).Ragged("items").item_row));
}

TEST(Batch, PackedIntegersAreTheSameAndMoveInOneCopy) {
  Batch whole = MakeBatch(100, 23);
  whole.Add("other", at::arange(23).mul_(7));
  const Batch packed = whole.Packed();
  for (const auto& [begin, count] : {std::pair{0, 23}, std::pair{4, 11}, std::pair{22, 1}, std::pair{5, 0}}) {
    const Batch a = packed.Slice(begin, count), b = whole.Slice(begin, count);
    for (const auto& [name, column] : b.columns()) EXPECT_TRUE(a.Column(name).equal(column)) << name;
    EXPECT_TRUE(a.Ragged("items").values.equal(b.Ragged("items").values));
    EXPECT_TRUE(a.Ragged("items").item_row.equal(b.Ragged("items").item_row));
  }
  const auto share = [](const Batch& batch) {
    return batch.Column("number").storage().is_alias_of(batch.Column("other").storage());
  };
  // Meta tensors have no values, but are moved as others are.
  EXPECT_TRUE(share(packed.Slice(4, 11).To(at::kMeta)));
  EXPECT_FALSE(share(whole.Slice(4, 11).To(at::kMeta)));
  const Batch moved = packed.Slice(4, 11).To(at::kMeta);
  EXPECT_EQ(moved.Column("other").sizes(), at::IntArrayRef({11}));
  EXPECT_EQ(moved.Column("picture").sizes(), whole.Slice(4, 11).Column("picture").sizes());
}

// A strided column that is part of no block is copied as it is.
TEST(Batch, AStridedColumnOfATaskMovesAsItIs) {
  Batch batch(RowRange{1, 0, 4});
  batch.Add("every_other", at::arange(7).slice(0, 0, 7, 2));
  EXPECT_EQ(batch.To(at::kMeta).Column("every_other").sizes(), at::IntArrayRef({4}));
}

TEST(Batch, TakenRowsAreCopiesInTheOrderAsked) {
  const Batch whole = MakeBatch(4, 9);
  const std::vector<std::int64_t> order{8, 0, 0, 3};
  const Batch taken = whole.Take(order);
  ASSERT_EQ(taken.size(), 4);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Batch one = taken.Slice(static_cast<std::int64_t>(i), 1), same = whole.Slice(order[i], 1);
    for (const auto& [name, column] : same.columns()) EXPECT_TRUE(at::equal(one.Column(name), column));
    for (const auto& [name, column] : same.ragged()) {
      EXPECT_TRUE(at::equal(one.Ragged(name).values, column.values));
      EXPECT_TRUE(at::equal(one.Ragged(name).item_row, column.item_row));
      EXPECT_EQ(one.Ragged(name).offsets, column.offsets);
    }
    for (const auto& [term, items] : same.items()) EXPECT_EQ(one.ItemCount(term), same.ItemCount(term));
  }
  EXPECT_THROW(whole.Take({9}), Error);
  EXPECT_THROW(whole.Take({-1}), Error);
}

TEST(Batch, ColumnsOfASliceAreViewsOfTheWhole) {
  const Batch whole = MakeBatch(0, 8);
  EXPECT_EQ(whole.Slice(2, 4).Column("picture").storage().data(), whole.Column("picture").storage().data());
  EXPECT_TRUE(whole.Slice(2, 4).Column("picture").is_contiguous());
}

TEST(Batch, MovingKeepsRowsAndCountsOnTheHost) {
  const Batch moved = MakeBatch(4, 6).To(at::Device(at::kMeta));
  EXPECT_TRUE(moved.Column("number").is_meta());
  EXPECT_TRUE(moved.Ragged("items").item_row.is_meta());
  EXPECT_EQ(moved.ItemCount("term"), MakeBatch(4, 6).ItemCount("term"));
  EXPECT_EQ(moved.rows().begin, 4);
}

TEST(Batch, ARaggedColumnHoldsAnyTensor) {
  Batch batch(RowRange{9, 4, 3});
  const at::Tensor clips = at::arange(24, at::kFloat).view({4, 3, 2});
  batch.AddRagged("clips", clips, {1, 0, 3});
  const Batch last = batch.Slice(1, 2);
  EXPECT_TRUE(last.Ragged("clips").values.equal(clips.narrow(0, 1, 3)));
  EXPECT_TRUE(last.Ragged("clips").item_row.equal(at::full({3}, 1, at::kLong)));
  const Batch taken = batch.Take({2, 0});
  EXPECT_EQ(taken.Ragged("clips").offsets, (std::vector<std::int64_t>{0, 3, 4}));
  EXPECT_TRUE(taken.Ragged("clips").values[3].equal(clips[0]));
  EXPECT_TRUE(batch.Packed().Ragged("clips").values.equal(clips));
  EXPECT_EQ(batch.To(at::Device(at::kMeta)).Ragged("clips").values.sizes(), (at::IntArrayRef{4, 3, 2}));
  EXPECT_THROW(batch.AddRagged("few", clips, {1, 1, 1}), Error);
  EXPECT_THROW(batch.AddRagged("rows", clips, {2, 2}), Error);
  EXPECT_THROW(batch.AddRagged("negative", clips, {5, -1, 0}), Error);
  EXPECT_THROW(batch.AddRagged("undefined", at::Tensor(), {0, 0, 0}), Error);
}

// Rows of 0 to 40 numbers, of which each names its row and place; `width` 40.
Batch MakePadded(std::int64_t first, std::int64_t count) {
  Batch batch(RowRange{9, first, count});
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = first + i, items = row % 7 == 0 ? 0 : row % 7 == 6 ? 40 : row % 7 * 5;
    for (std::int64_t place = 0; place < items; ++place)
      rows[static_cast<std::size_t>(i)].push_back(row * 100 + place);
  }
  batch.AddPadded("tokens", rows, 40, -1);
  return batch;
}

// The slow way to the same column.
at::Tensor PaddedByHand(const Batch& on_host, std::int64_t width) {
  const RaggedColumn& column = on_host.Ragged("tokens");
  at::Tensor padded = at::full({on_host.size(), width}, -1, at::kLong);
  for (std::int64_t row = 0; row < on_host.size(); ++row) {
    const std::int64_t begin = column.offsets[static_cast<std::size_t>(row)];
    for (std::int64_t i = begin; i < column.offsets[static_cast<std::size_t>(row) + 1]; ++i)
      padded[row][i - begin] = column.values[i];
  }
  return padded;
}

std::int64_t WidthByHand(const Batch& on_host) {
  const std::vector<std::int64_t>& offsets = on_host.Ragged("tokens").offsets;
  std::int64_t longest = 1;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
  return std::min<std::int64_t>(40, longest <= 16 ? 16 : longest <= 32 ? 32 : 48);
}

TEST(Batch, APaddedColumnIsAsWideAsTheLongestRowOfTheSliceThatIsMoved) {
  const Batch whole = MakePadded(100, 23);
  for (std::int64_t begin = 0; begin <= 23; ++begin) {
    for (std::int64_t count = 0; begin + count <= 23; ++count) {
      const Batch slice = whole.Slice(begin, count);
      const at::Tensor column = slice.To(at::kCPU).Column("tokens");
      EXPECT_TRUE(column.equal(PaddedByHand(MakePadded(100 + begin, count), WidthByHand(slice)))) << begin;
    }
  }
}

TEST(Batch, APaddedColumnStaysOneThroughSlicesTakesAndBlocks) {
  const Batch whole = MakePadded(0, 20);
  const at::Tensor expected = PaddedByHand(MakePadded(5, 6), 40);
  EXPECT_TRUE(whole.Slice(3, 15).Slice(2, 6).To(at::kCPU).Column("tokens").equal(expected));
  EXPECT_TRUE(whole.Packed().Slice(3, 15).Slice(2, 6).To(at::kCPU).Column("tokens").equal(expected));
  EXPECT_TRUE(whole.InDouble().Slice(5, 6).To(at::kCPU).InDouble().Column("tokens").equal(expected));
  EXPECT_TRUE(whole.Take({5, 6, 7, 8, 9, 10}).To(at::kCPU).Column("tokens").equal(expected));
  // Rows taken twice, the shortest among them, and what is moved is moved again and sliced.
  const Batch taken = whole.Take({7, 1, 1}).To(at::kCPU);
  EXPECT_EQ(taken.Column("tokens").sizes(), (at::IntArrayRef{3, 16}));
  EXPECT_TRUE(taken.Column("tokens")[1].equal(taken.Column("tokens")[2]));
  EXPECT_TRUE(taken.To(at::kCPU).Slice(1, 1).Column("tokens").equal(taken.Column("tokens").narrow(0, 1, 1)));
  EXPECT_EQ(whole.Packed().Slice(3, 4).To(at::kMeta).Column("tokens").sizes(), (at::IntArrayRef{4, 40}));
  EXPECT_EQ(whole.Slice(0, 0).To(at::kCPU).Column("tokens").sizes(), (at::IntArrayRef{0, 16}));
}

TEST(Batch, APaddedColumnIsNarrowerThanAMultipleWhereItsWidthIs) {
  Batch batch(RowRange{9, 4, 2});
  batch.AddPadded("tokens", {{1, 2}, {}}, 5, 0);
  EXPECT_TRUE(batch.To(at::kCPU).Column("tokens").equal(
      at::cat({at::arange(1, 3), at::zeros({8}, at::kLong)}).view({2, 5})));
}

TEST(Batch, MistakesWithPaddedColumnsAreErrors) {
  Batch batch(RowRange{9, 4, 2});
  const auto words_of = [&](const auto& fn) -> std::string {
    try {
      fn();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(words_of([&] {
              batch.AddPadded("tokens", {{1}, {1, 2, 3}}, 2, 0);
            }),
            "padded column 'tokens' has 3 items in row 5, its width is 2");
  EXPECT_THROW(batch.AddPadded("tokens", {{1}, {2}}, 0, 0), Error);
  EXPECT_THROW(batch.AddPadded("tokens", {{1}}, 2, 0), Error);
  EXPECT_THROW(batch.AddPadded("tokens", at::zeros({2}), {1, 1}, 2, 0), Error);
  batch.AddPadded("tokens", {{1}, {2}}, 2, 0);
  EXPECT_THROW(batch.AddPadded("tokens", {{1}, {2}}, 2, 0), Error);
  EXPECT_NE(words_of([&] { batch.Column("tokens"); }).find("behind To(device)"), std::string::npos);
}

TEST(Batch, MistakesAreErrorsThatNameTheColumn) {
  Batch batch = MakeBatch(0, 4);
  EXPECT_THROW(batch.Add("number", at::zeros({4})), Error);
  EXPECT_THROW(batch.Add("items", at::zeros({4})), Error);
  EXPECT_THROW(batch.Add("short", at::zeros({3})), Error);
  EXPECT_THROW(batch.Add("undefined", at::Tensor()), Error);
  EXPECT_THROW(batch.AddRagged("short", {{1}, {2}}), Error);
  EXPECT_THROW(batch.SetItems("term", at::zeros({4}, at::kLong)), Error);
  EXPECT_THROW(batch.SetItems("floats", at::zeros({4})), Error);
  EXPECT_THROW(batch.Slice(2, 3), Error);
  EXPECT_THROW(batch.Slice(-1, 1), Error);
  try {
    batch.Column("nubmer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'nubmer'; its columns: number, picture"), std::string::npos);
  }
  EXPECT_EQ(batch.ItemCount("none"), 0);
}

}  // namespace
}  // namespace medley
