#include <medley/base/input_file.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <medley/base/durable_file.h>
#include <medley/base/file_digest.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string Words(const fs::path& path, InputFile::Links links = InputFile::Links::kFollow) {
  try {
    char byte = 0;
    InputFile(path, links).Read(0, &byte, 1);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(InputFile, ReadsFromAnyOffsetAndSaysWhereItEnds) {
  const ScratchDirectory scratch;
  WriteText(scratch / "file", "0123456789");
  const InputFile file(scratch / "file");
  EXPECT_TRUE(file.is_plain());
  EXPECT_EQ(file.size(), 10);
  std::string text(6, '.');
  EXPECT_EQ(file.Read(2, text.data(), 6), 6u);
  EXPECT_EQ(text, "234567");
  EXPECT_EQ(file.Read(7, text.data(), 6), 3u);
  EXPECT_EQ(text, "789567");
  EXPECT_EQ(file.Read(10, text.data(), 6), 0u);
}

TEST(InputFile, WhatCannotBeReadIsAnErrorWithThePathAndTheSystemsWords) {
  const ScratchDirectory scratch;
  WriteText(scratch / "file", "x");
  fs::create_symlink(scratch / "file", scratch / "link");
  EXPECT_EQ(Words(scratch / "none"),
            "cannot open " + (scratch / "none").string() + ": No such file or directory");
  EXPECT_EQ(Words(scratch.path()), "cannot read " + scratch.path().string() + ": Is a directory");
  EXPECT_EQ(Words(scratch / "link"), "");
  EXPECT_NE(Words(scratch / "link", InputFile::Links::kRefuse).find("symbolic links"), std::string::npos);
}

TEST(HashFile, IsTheSumOfAFileAndNothingWhereThereIsNone) {
  const ScratchDirectory scratch;
  const std::string text(100'000, 'a');
  WriteText(scratch / "file", text);
  EXPECT_EQ(HashFile(scratch / "file"), HashText(text));
  EXPECT_EQ(HashFile(scratch / "none"), "");
  EXPECT_EQ(HashFile(scratch.path()), "");
  EXPECT_EQ(HashFile(""), "");
  fs::create_symlink("loop", scratch / "loop");
  EXPECT_THROW(HashFile(scratch / "loop"), FileError);
}

}  // namespace
}  // namespace medley
