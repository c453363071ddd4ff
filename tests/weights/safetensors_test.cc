#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <medley/base/error.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

std::string Repeated(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

class Safetensors : public ::testing::Test {
 protected:
  Safetensors()
      : path_(std::filesystem::temp_directory_path() /
              ("medley-" + std::to_string(getpid()) + ".safetensors")) {}
  ~Safetensors() override { std::filesystem::remove(path_); }

  void Write(const std::vector<Parameter>& tensors, const std::map<std::string, std::string>& metadata = {}) {
    std::ofstream out(path_, std::ios::binary);
    WriteSafetensors(tensors, metadata, [&](const void* data, std::size_t size) {
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    });
  }

  void WriteRaw(const std::string& header, const std::string& values, std::int64_t length = -1) {
    const std::uint64_t size = length < 0 ? header.size() : static_cast<std::uint64_t>(length);
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), 8);
    out << header << values;
  }

  // The message of the refusal, "" where the file is read.
  std::string Refusal() {
    try {
      ReadSafetensors(path_);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  std::filesystem::path path_;
};

std::vector<Parameter> SomeTensors() {
  return {{"b.weight", at::randn({3, 5})},
          {"a", at::randn({2, 2, 2}, at::kDouble)},
          {"z.half", at::randn({4}).to(at::kBFloat16)},
          {"ids", at::randint(-9, 9, {6}, at::kLong)},
          {"strided", at::randn({4, 3}).t()},
          {"scalar", at::tensor(2.5)},
          {"mask", at::tensor({1, 0, 1}).to(at::kBool)},
          {"empty", at::empty({0, 7})}};
}

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  const std::vector<Parameter> tensors = SomeTensors();
  Write(tensors, {{"format", "pt"}, {"odd \"key\"", "zwölf"}});
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(path_)),
            SafetensorsSize(tensors, {{"format", "pt"}, {"odd \"key\"", "zwölf"}}));
  const auto read = ReadSafetensors(path_);
  ASSERT_EQ(read.size(), tensors.size());
  for (const Parameter& parameter : tensors) {
    const at::Tensor& tensor = read.at(parameter.name);
    EXPECT_EQ(tensor.scalar_type(), parameter.tensor.scalar_type());
    EXPECT_TRUE(at::equal(tensor, parameter.tensor)) << parameter.name;
  }
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find(R"("odd \"key\"":"zwölf")"), std::string::npos);
}

TEST_F(Safetensors, TheOrderOfTheTensorsDoesNotMatter) {
  std::vector<Parameter> tensors = SomeTensors();
  const auto bytes = [](const std::vector<Parameter>& list) {
    std::string all;
    WriteSafetensors(list, {}, [&](const void* data, std::size_t size) {
      all.append(static_cast<const char*>(data), size);
    });
    return all;
  };
  const std::string before = bytes(tensors);
  std::reverse(tensors.begin(), tensors.end());
  EXPECT_EQ(before, bytes(tensors));
  std::uint64_t header = 0;
  std::copy_n(before.data(), 8, reinterpret_cast<char*>(&header));
  EXPECT_EQ(header % 8, 0);
}

// The reader would refuse the file.
TEST_F(Safetensors, TwoEmptyTensorsAtOnePlaceAreNotWritten) {
  EXPECT_THROW(Write({{"a", at::empty({0})}, {"b", at::empty({2, 0})}}), Error);
  Write({{"a", at::empty({0})}, {"b", at::ones({1})}, {"c", at::empty({0})}});
  EXPECT_EQ(ReadSafetensors(path_).size(), 3u);
}

TEST_F(Safetensors, TwoTensorsOfOneNameAreRefused) {
  EXPECT_THROW(Write({{"a", at::ones({1})}, {"a", at::ones({1})}}), Error);
  EXPECT_THROW(Write({{"c", at::ones({1}, at::kComplexFloat)}}), Error);
}

TEST_F(Safetensors, HostileFilesAreRefusedInWords) {
  const auto has = [&](const std::string& part) {
    const std::string message = Refusal();
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks '" << part << "'";
  };
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight(8, 'x');
  WriteRaw(good, eight);
  EXPECT_EQ(Refusal(), "");

  WriteRaw(good, eight, 1'000'000);
  has("claims a header of 1000000 bytes");
  WriteRaw(good, eight, INT64_MAX);
  has("claims a header");
  WriteRaw(" " + good, eight);
  has("does not start with '{'");
  WriteRaw(good.substr(0, 20), eight);
  has("not valid JSON");
  WriteRaw("{" + std::string(100'000, '['), "");
  has("not valid JSON");
  WriteRaw(R"({"a":)" + std::string(100'000, '['), "");
  has("nested more than 64 levels deep");
  WriteRaw(good, "xxxxxxx");
  has("at bytes 0 to 8 of 7");
  WriteRaw(good, "xxxxxxxxx");
  has("1 bytes behind its last tensor");
  WriteRaw(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      eight);
  has("a: the key stands twice");
  WriteRaw(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      "xxxx");
  has("overlapping tensors before 'b'");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight);
  has("a hole before 'a'");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight);
  has("of 8 bytes, its shape and dtype need 12");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", eight);
  has("size overflows");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})", "");
  has("size overflows");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight);
  has("something else than whole numbers");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", eight);
  has("something else than whole numbers");
  WriteRaw(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", eight);
  has("the type 'F8_E4M3'");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight);
  has("at bytes 8 to 0");
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", eight);
  has("exactly dtype, shape and data_offsets");
  WriteRaw(
      R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0,2],"data_offsets":[0,0]}})",
      "");
  has("two tensors without values at one place");
  WriteRaw("{" + std::string(16 << 20, ' ') + "}", "");
  has("and 16777216 is the most");
  WriteRaw(R"({"__metadata__":[)" + Repeated("0,", 1 << 20) + "0]}", "");
  has("more than 1048576 values");
  WriteRaw(R"({"a":7})", "");
  has("exactly dtype, shape and data_offsets");
  WriteRaw(R"({"__metadata__":{"a":1}})", "");
  has("'a' is no string");
  WriteRaw(R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})", eight);
  has("other than 0 and 1");
  std::ofstream(path_) << "abc";
  has("shorter than 8 bytes");
  std::filesystem::remove(path_);
  EXPECT_NE(Refusal(), "");
}

// No cut and no flipped bit in the header may crash the reader or be read beyond the file.
TEST_F(Safetensors, EveryDamagedHeaderIsReadOrRefused) {
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[1,2],"data_offsets":[8,10]}})";
  const std::string values(10, 'x');
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      WriteRaw(bad, values);
      refused += Refusal().empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 600);
}

TEST_F(Safetensors, ThePythonPackageReadsTheSameValues) {
  const std::string python = std::string(MEDLEY_SOURCE_DIR) + "/.venv/bin/python";
  const std::string probe = python + " -c 'import safetensors.numpy' >/dev/null 2>&1";
  if (std::system(probe.c_str()) != 0)
    GTEST_SKIP() << "the Python packages safetensors and numpy are not in .venv";
  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3}) / 7, b = at::arange(-3, 4, at::kLong);
  Write({{"x.a", a}, {"b", b}, {"c", at::ones({2}, at::kDouble)}}, {{"format", "pt"}});
  const std::string script = "import numpy, safetensors.numpy as s; d = s.load_file('" + path_.string() +
                             "'); "
                             "assert sorted(d) == ['b', 'c', 'x.a'], sorted(d); "
                             "assert (d['x.a'] == numpy.arange(6, dtype='float32').reshape(2, 3) / "
                             "numpy.float32(7)).all(), d['x.a']; "
                             "assert (d['b'] == numpy.arange(-3, 4)).all() and d['b'].dtype == 'int64'; "
                             "assert (d['c'] == 1).all() and d['c'].dtype == 'float64'; "
                             "s.save_file({'back': d['b'], 'again': d['x.a']}, '" +
                             path_.string() + "')";
  ASSERT_EQ(std::system((python + " -c \"" + script + "\"").c_str()), 0);
  const auto back = ReadSafetensors(path_);
  EXPECT_TRUE(at::equal(back.at("back"), b));
  EXPECT_TRUE(at::equal(back.at("again"), a));
}

}  // namespace
}  // namespace medley
