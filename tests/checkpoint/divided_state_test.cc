#include <medley/checkpoint/divided_state.h>
#include <medley/weights/safetensors.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

const at::Tensor& Whole() {
  static const at::Tensor kWhole = at::arange(1000).to(at::kFloat);
  return kWhole;
}

TensorPart PartOf(const std::string& name, std::int64_t begin, std::int64_t end) {
  return {{name, Whole().narrow(0, begin, end - begin)}, begin};
}

void Write(const fs::path& directory, const ShardPlace& place, const std::vector<TensorPart>& parts) {
  std::ofstream file(directory / PartFile(place), std::ios::binary);
  WriteSafetensors(WithPlaces(parts), {{"format", "pt"}}, [&](const void* data, std::size_t size) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  });
}

TEST(DividedState, IsWholeAgainWhateverTheNamesAreAndHoweverManyWroteIt) {
  const ScratchDirectory scratch;
  const std::string odd = "a[1:2].exp_avg";
  Write(scratch.path(), {0, 3}, {PartOf("w", 0, 256), PartOf(odd, 0, 1000)});
  Write(scratch.path(), {1, 3}, {PartOf("w", 256, 1000)});
  Write(scratch.path(), {2, 3}, {});
  std::map<std::string, at::Tensor> saved = {{"w.step", at::zeros({})}};
  EXPECT_EQ(JoinParts(scratch.path(), saved), (std::set<std::string>{"w", odd}));
  EXPECT_EQ(saved.size(), 3U);
  for (const std::string& name : {std::string("w"), odd}) EXPECT_TRUE(at::equal(saved.at(name), Whole()));
}

TEST(DividedState, OfWhatIsNotWantedNothingIsRead) {
  const ScratchDirectory scratch;
  Write(scratch.path(), {0, 2}, {PartOf("w", 0, 512), PartOf("other", 0, 512)});
  Write(scratch.path(), {1, 2}, {PartOf("w", 512, 1000), PartOf("other", 512, 1000)});
  const auto read = [&](std::int64_t begin, std::int64_t end) {
    std::map<std::string, at::Tensor> saved;
    const auto names =
        JoinParts(scratch.path(), saved,
                  [&](const std::string& name, std::int64_t numbers) -> std::optional<NumberRange> {
                    EXPECT_EQ(numbers, 1000);
                    return name == "w" ? std::optional(NumberRange{begin, end}) : std::nullopt;
                  });
    EXPECT_EQ(names, (std::set<std::string>{"w"}));
    EXPECT_EQ(saved.size(), 1U);
    return saved.at("w");
  };
  EXPECT_TRUE(at::equal(read(256, 768), Whole().narrow(0, 256, 512)));
  EXPECT_TRUE(at::equal(read(0, 256), Whole().narrow(0, 0, 256)));
  EXPECT_TRUE(at::equal(read(768, 1000), Whole().narrow(0, 768, 232)));
  EXPECT_EQ(read(1000, 1256).numel(), 0) << "which its loader then names";
}

TEST(DividedState, RefusesPartsThatAreNotTheWhole) {
  const auto message = [](const std::vector<TensorPart>& first, const std::vector<TensorPart>& second,
                          std::map<std::string, at::Tensor> saved = {}) {
    const ScratchDirectory scratch;
    Write(scratch.path(), {0, 2}, first);
    Write(scratch.path(), {1, 2}, second);
    return test::MessageOf<InputError>([&] { JoinParts(scratch.path(), saved); });
  };
  const std::string unfit = "the parts of w do not fit together behind its number ";
  EXPECT_TRUE(test::Has(message({PartOf("w", 0, 256)}, {PartOf("w", 512, 1000)}), unfit + "256"));
  EXPECT_TRUE(test::Has(message({PartOf("w", 0, 512)}, {PartOf("w", 256, 1000)}), unfit + "512"));
  EXPECT_TRUE(test::Has(message({PartOf("w", 256, 1000)}, {}), unfit + "0"));
  EXPECT_TRUE(
      test::Has(message({PartOf("w", 0, 256)}, {PartOf("w", 0, 256)}), "another file has 'w[0:256]'"));
  EXPECT_TRUE(test::Has(message({PartOf("w", 0, 256)}, {}, {{"w", Whole()}}), "as a whole and in parts"));
  TensorPart other = PartOf("w", 256, 1000);
  other.tensor.tensor = other.tensor.tensor.to(at::kDouble);
  EXPECT_TRUE(test::Has(message({PartOf("w", 0, 256)}, {other}), unfit + "256"));
}

TEST(DividedState, RefusesNamesWithoutAPlace) {
  for (const std::string name :
       {"w", "w[0:9]", "w[0:]", "w[-1:255]", "w[0:256", "w[256:0]", "w[:256]", "w[0:99999999999999999999]"}) {
    const ScratchDirectory scratch;
    std::ofstream file(scratch.path() / PartFile({0, 1}), std::ios::binary);
    WriteSafetensors({{name, Whole().narrow(0, 0, 256)}}, {}, [&](const void* data, std::size_t size) {
      file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    });
    file.close();
    std::map<std::string, at::Tensor> saved;
    EXPECT_TRUE(test::Has(test::MessageOf<InputError>([&] { JoinParts(scratch.path(), saved); }),
                          "'" + name + "' does not say which part"));
  }
}

}  // namespace
}  // namespace medley
