// Core's folders are layers: each may include only those before it. The order is the one in
// core/CMakeLists.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/files.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using Text = std::vector<std::string>;
using Files = std::map<std::string, std::string>;  // text by path, which begins with "core/"

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string FolderOf(const std::string& path) {
  const std::size_t begin = path.find('/') + 1;
  return path.substr(begin, path.find('/', begin) - begin);
}

bool IsHeader(const std::string& path) { return path.ends_with(".h"); }

// Collects "file:line: rule" for every line that breaks one.
class LayerCheck {
 public:
  LayerCheck(std::vector<std::string> order, Files files)
      : order_(std::move(order)), files_(std::move(files)) {
    for (const auto& [path, text] : files_) FindTypes(path, text);
  }

  std::vector<std::string> Run() {
    for (const auto& [path, text] : files_) {
      if (RankOf(FolderOf(path)) == order_.size()) continue;  // core/pch.h
      CheckLines(path, text);
      CheckName(path);
    }
    return broken_;
  }

 private:
  std::size_t RankOf(const std::string& folder) const {
    return static_cast<std::size_t>(std::find(order_.begin(), order_.end(), folder) - order_.begin());
  }

  void FindTypes(const std::string& path, const std::string& text) {
    static const std::regex kType(R"(^(?:class|struct|enum class) (\w+)(?: final)?(?: : [^;]*)? \{)");
    for (const std::string& line : Lines(text)) {
      std::smatch match;
      if (IsHeader(path) && std::regex_search(line, match, kType)) folder_of_type_[match[1]] = FolderOf(path);
    }
  }

  void CheckLines(const std::string& path, const std::string& text) {
    static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]medley/(\w+)/[^>"]*[>"])");
    static const std::regex kDeclaration(R"(\b(?:class|struct|enum class) (\w+)\s*[;&*])");
    const std::vector<std::string> lines = Lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string at = path + ":" + std::to_string(i + 1);
      std::smatch match;
      if (std::regex_search(lines[i], match, kInclude)) CheckEdge(at, FolderOf(path), match[1], "includes");
      if (!std::regex_search(lines[i], match, kDeclaration)) continue;
      const auto type = folder_of_type_.find(match[1]);
      if (type != folder_of_type_.end())
        CheckEdge(at, FolderOf(path), type->second, "declares " + type->first + " of");
    }
  }

  void CheckEdge(const std::string& at, const std::string& from, const std::string& to,
                 const std::string& how) {
    if (RankOf(to) > RankOf(from))
      broken_.push_back(at + ": " + from + " " + how + " " + to + ", which is no folder before it");
  }

  void CheckName(const std::string& path) {
    if (!path.ends_with(".cc")) return;
    const std::string stem = fs::path(path).stem(), folder = fs::path(path).parent_path();
    const bool has_header = std::any_of(files_.begin(), files_.end(), [&](const auto& file) {
      const std::string header = fs::path(file.first).stem();
      return IsHeader(file.first) && fs::path(file.first).parent_path() == folder &&
             (stem == header || stem.starts_with(header + "_"));
    });
    if (!has_header) broken_.push_back(path + ":1: no header of its folder has its name, or begins it");
  }

  std::vector<std::string> order_;
  Files files_;
  std::map<std::string, std::string> folder_of_type_;
  std::vector<std::string> broken_;
};

const fs::path kSource = MEDLEY_SOURCE_DIR;

Files ReadTree(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".h" || extension == ".cc")
      files[fs::relative(entry.path(), kSource)] = ReadFile(entry.path());
  }
  return files;
}

std::vector<std::string> Order() {
  const std::string text = ReadFile(kSource / "core/CMakeLists.txt");
  std::smatch match;
  static const std::regex kParts(R"(foreach\(part ([^)]*)\))");
  EXPECT_TRUE(std::regex_search(text, match, kParts));
  return Words(match[1]);
}

TEST(Layers, EachFolderOfCoreIncludesOnlyThoseBeforeIt) {
  EXPECT_EQ(LayerCheck(Order(), ReadTree("core")).Run(), Text());
}

TEST(Layers, EveryFolderOfCoreIsInTheOrderAndInTheReadme) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kSource / "core")) {
    if (entry.is_directory()) folders.push_back(entry.path().filename());
  }
  std::vector<std::string> order = Order();
  std::string line;
  for (const std::string& folder : order) line += (line.empty() ? "" : " ") + folder;
  EXPECT_NE(ReadFile(kSource / "core/README.md").find(line), std::string::npos) << line;
  std::sort(folders.begin(), folders.end());
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, folders);
}

// Elsewhere it would compile, and run on one thread.
TEST(Layers, OnlyWhatIsCompiledWithOpenMpCallsLibtorchsLoop) {
  for (const auto& [path, text] : ReadTree("core")) {
    if (path == "core/model/parallel_for.cc") continue;
    EXPECT_EQ(text.find("at::parallel_for("), std::string::npos) << path;
  }
}

TEST(Layers, EstimateCanBeRemoved) {
  const std::set<std::string> may = {"core/estimate", "tests/estimate"};
  const std::set<std::string> files_may = {
      "tools/medley/validate_result.h", "tools/medley/completion_values.cc", "tools/bench/memory_passes.cc",
      "tests/config/schema_test.cc", "tests/fuzz/base_readers.cc"};
  for (const char* folder : {"core", "tasks", "plugins", "tools", "tests"}) {
    for (const auto& [path, text] : ReadTree(folder)) {
      const bool is_the_verb = path.starts_with("tools/medley/estimate");
      if (is_the_verb || may.count(fs::path(path).parent_path()) > 0 || files_may.count(path) > 0) continue;
      EXPECT_EQ(("\n" + text).find("\n#include <medley/estimate/"), std::string::npos) << path;
    }
  }
}

TEST(Layers, ALineThatBreaksTheOrderIsNamedWithItsRule) {
  const Files files = {
      {"core/base/low.h", "#pragma once\nclass High;\n#include <medley/train/high.h>\n"},
      {"core/train/high.h", "#include <medley/base/low.h>\nclass High final : public Low {\n"}};
  EXPECT_EQ(LayerCheck({"base", "train"}, files).Run(),
            Text({"core/base/low.h:2: base declares High of train, which is no folder before it",
                  "core/base/low.h:3: base includes train, which is no folder before it"}));
}

TEST(Layers, AnElaboratedTypeAndAFolderThatNobodyListedBreakIt) {
  const Files files = {{"core/base/low.h", "void Use(struct High& high);\n#include <medley/news/paper.h>\n"},
                       {"core/train/high.h", "struct High {\n"}};
  EXPECT_EQ(LayerCheck({"base", "train"}, files).Run(),
            Text({"core/base/low.h:1: base declares High of train, which is no folder before it",
                  "core/base/low.h:2: base includes news, which is no folder before it"}));
}

TEST(Layers, ASourceWithoutAHeaderOfItsNameIsNamed) {
  const Files files = {{"core/base/mixer.h", ""},
                       {"core/base/mixer_save.cc", ""},
                       {"core/base/mixer.cc", ""},
                       {"core/base/saver.cc", ""}};
  EXPECT_EQ(LayerCheck({"base"}, files).Run(),
            Text({"core/base/saver.cc:1: no header of its folder has its name, or begins it"}));
}

}  // namespace
}  // namespace medley
