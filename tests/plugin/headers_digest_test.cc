// The digest that a plugin carries: of headers without their comments.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <medley/base/sha256.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> SumsOf(const std::vector<fs::path>& headers) {
  std::string list;
  for (const fs::path& header : headers) list += (list.empty() ? "" : ";") + header.string();
  const auto result = test::Shell("cmake '-DHEADERS=" + list +
                                  "' -P " MEDLEY_SOURCE_DIR "/cmake/MedleyHeadersDigest.cmake 2>&1");
  std::istringstream lines(result.out);
  std::vector<std::string> sums;
  for (std::string sum; lines >> sum;) sums.push_back(sum);
  return sums;
}

// The rule, letter by letter.
std::string WithoutComments(const std::string& text) {
  std::string kept, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    bool quoted = false;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (!quoted && line[i] == '/' && line[i + 1] == '/') line.resize(i);
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
      line.pop_back();
    if (!line.empty()) kept += line + "\n";
  }
  return kept;
}

TEST(HeadersDigest, IsThatOfEachHeaderWithoutComments) {
  std::vector<fs::path> headers;
  for (const auto& entry : fs::recursive_directory_iterator(MEDLEY_SOURCE_DIR "/core/task"))
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  for (const char* further : {"model/model_spec_check.h", "base/constexpr_json.h", "plugin/registry.h"})
    headers.push_back(fs::path(MEDLEY_SOURCE_DIR "/core") / further);
  const std::vector<std::string> sums = SumsOf(headers);
  ASSERT_EQ(sums.size(), headers.size());
  const testing::TempDirectory directory;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    testing::WriteBytes(directory / "stripped", WithoutComments(testing::ReadBytes(headers[i])));
    EXPECT_EQ(sums[i], Sha256OfFile(directory / "stripped")) << headers[i];
  }
}

TEST(HeadersDigest, ACommentKeepsItAndATokenDoesNot) {
  const std::string plain = "#pragma once\nint f(int a);  // adds\nconst char* const kUrl = \"http://x\";\n";
  const std::vector<std::string> same = {
      "// A new page.\n#pragma once\n\n\nint f(int a);\nconst char* const kUrl = \"http://x\";  // whose?\n",
      "#pragma once  \nint f(int a);  // \"adds\" // [or; \\ not]\nconst char* const kUrl = \"http://x\";"};
  const std::vector<std::string> other = {
      "#pragma once\nint f(int b);  // adds\nconst char* const kUrl = \"http://x\";\n",
      "#pragma once\nint f(int a);  // adds\nconst char* const kUrl = \"http://y\";\n",
      "#pragma once\nint f(int a);  // adds\n// const char* const kUrl = \"http://x\";\n",
      "#pragma once\nint f(int a);  /* adds */\nconst char* const kUrl = \"http://x\";\n"};
  const testing::TempDirectory directory;
  std::vector<fs::path> files;
  const auto write = [&](const std::string& text) {
    files.push_back(directory / (std::to_string(files.size()) + ".h"));
    testing::WriteBytes(files.back(), text);
  };
  write(plain);
  for (const auto* texts : {&same, &other})
    for (const std::string& text : *texts) write(text);
  const std::vector<std::string> sums = SumsOf(files);
  ASSERT_EQ(sums.size(), files.size());
  for (std::size_t i = 1; i < sums.size(); ++i) EXPECT_EQ(sums[i] == sums[0], i <= same.size()) << i;
}

}  // namespace
}  // namespace medley
