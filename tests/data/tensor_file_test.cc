#include <medley/data/tensor_file.h>

#include <ATen/ATen.h>

#include <medley/weights/safetensors.h>

#include "data_files.h"

namespace medley {
namespace {

class TensorFile : public DataFiles {
 protected:
  std::filesystem::path WriteValues(const std::string& name, const at::Tensor& values,
                                    std::string before = {}) {
    const at::Tensor plain = values.contiguous();
    before.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    return Write(name, before);
  }
};

TEST_F(TensorFile, HoldsTheValuesAlsoBehindAHeader) {
  const at::Tensor values = at::randn({3, 5});
  EXPECT_TRUE(at::equal(MapTensor(WriteValues("a", values), {3, 5}, at::kFloat), values));
  EXPECT_TRUE(at::equal(MapTensor(WriteValues("b", values, "head"), {3, 5}, at::kFloat, 4), values));
  EXPECT_TRUE(at::equal(MapTensor(WriteValues("c", values, "odd"), {3, 5}, at::kFloat, 3), values));
  EXPECT_EQ(MapTensor(Write("d", ""), {0, 5}, at::kFloat).numel(), 0);
}

TEST_F(TensorFile, WritingToItLeavesTheFileAlone) {
  const at::Tensor values = at::ones({4});
  const std::filesystem::path file = WriteValues("a", values);
  MapTensor(file, {4}, at::kFloat).zero_();
  EXPECT_TRUE(at::equal(MapTensor(file, {4}, at::kFloat), values));
}

TEST_F(TensorFile, OutlivesItsName) {
  const at::Tensor values = at::randn({1000});
  const std::filesystem::path file = WriteValues("a", values);
  const at::Tensor mapped = MapTensor(file, {1000}, at::kFloat);
  std::filesystem::remove(file);
  EXPECT_TRUE(at::equal(mapped, values));
}

TEST_F(TensorFile, OfAnotherSizeIsRefused) {
  const std::filesystem::path file = WriteValues("a", at::ones({4}));
  EXPECT_EQ(Refusal([&] { MapTensor(file, {5}, at::kFloat); }),
            "a has 16 bytes; expected 20, for values [5] of Float from byte 0 on");
  EXPECT_NE(Refusal([&] { MapTensor(file, {4}, at::kFloat, 4); }), "");
  EXPECT_NE(Refusal([&] { MapTensor(file, {-4}, at::kFloat); }), "");
  EXPECT_NE(Refusal([&] { MapTensor(file, {std::int64_t{1} << 62, 4}, at::kFloat); }), "");
  EXPECT_NE(Refusal([&] { MapTensor(folder_ / "b", {4}, at::kFloat); }), "");
}

TEST_F(TensorFile, SafetensorsMappedAreThoseRead) {
  const std::filesystem::path file = folder_ / "a.safetensors";
  {
    std::ofstream out(file, std::ios::binary);
    WriteSafetensors({{"a", at::randn({3, 5})},
                      {"b", at::randn({7}).to(at::kBFloat16)},
                      {"c", at::rand({3}) > 0.5},
                      {"d", at::randn({2, 2}, at::kDouble)},
                      {"e", at::empty({0, 3})}},
                     {{"made", "by a test"}}, [&](const void* data, std::size_t size) {
                       out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
                     });
  }
  const auto read = ReadSafetensors(file), mapped = MapSafetensors(file);
  ASSERT_EQ(read.size(), mapped.size());
  for (const auto& [name, values] : read) {
    EXPECT_EQ(values.scalar_type(), mapped.at(name).scalar_type());
    EXPECT_TRUE(at::equal(values, mapped.at(name))) << name;
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_NE(Refusal([&] { MapSafetensors(file); }), "");
}

}  // namespace
}  // namespace medley
