// Core's folders are layers: each may include only those before it. The order is the one in
// core/CMakeLists.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
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

bool HasWord(const std::string& line, const std::string& word) {
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool goes_on =
        at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '_');
    if (!goes_on) return true;
  }
  return false;
}

// Opening for writing, or moving a file to another's place: of the system, of the standard library, of
// spdlog, of libtorch and of core/base.
bool OpensForWriting(const std::string& line) {
  static const std::vector<std::string> kOpening = {"O_CREAT",
                                                    "O_WRONLY",
                                                    "O_RDWR",
                                                    "O_APPEND",
                                                    "O_TRUNC",
                                                    "creat(",
                                                    "mkstemp",
                                                    "tmpfile(",
                                                    "::rename(",
                                                    "::renameat",
                                                    "::truncate(",
                                                    "fopen(",
                                                    "freopen(",
                                                    "ofstream",
                                                    "fstream ",
                                                    "fs::rename(",
                                                    "fs::copy(",
                                                    "fs::copy_file(",
                                                    "fs::resize_file(",
                                                    "filesystem::rename(",
                                                    "filesystem::copy(",
                                                    "filesystem::copy_file(",
                                                    "filesystem::resize_file(",
                                                    "basic_file_sink",
                                                    "torch::save(",
                                                    "NewFile ",
                                                    "ReplaceFile(",
                                                    "AppendFile "};
  const std::string code = line.substr(0, line.find("//"));
  if (code.starts_with("#include")) return false;
  return std::any_of(kOpening.begin(), kOpening.end(),
                     [&](const std::string& word) { return HasWord(code, word); });
}

std::set<std::string> FilesThatWrite(const Files& files) {
  std::set<std::string> writing;
  for (const auto& [path, text] : files) {
    const std::vector<std::string> lines = Lines(text);
    if (std::any_of(lines.begin(), lines.end(), OpensForWriting)) writing.insert(path);
  }
  return writing;
}

// What a verb writes where its user says goes through OutputFile, which replaces nothing that is no plain
// file; and in the command through an OutputOption, which knows what may be replaced.
TEST(Layers, NothingElseOpensAFileForWriting) {
  const std::set<std::string> may = {
      "core/base/append_file.cc", "core/base/durable_file.cc", "core/base/output_file.cc",
      "core/base/append_file.h", "core/base/durable_file.h",
      "core/base/run_program.cc",    // the null device
      "core/memory/freed_pages.cc",  // reads what the kernel says of the process
      // What a run's directory has of its own.
      "core/checkpoint/checkpoint_files.cc", "core/checkpoint/run_directory.cc",
      "core/checkpoint/run_lock.cc", "core/curriculum/weight_log.cc", "core/plan/receipt_book.cc",
      "core/plan/run_planner.cc", "core/report/console.cc", "core/report/event_file.h",
      "core/report/log_repair.cc", "core/report/metrics.cc", "core/report/metrics.h",
      "core/run/run_references.cc",
      "core/runs/sweep_record.cc",  // of a sweep's
      "core/session/repeated_run.cc", "core/session/session.cc", "core/session/session_begin.cc",
      "core/train/admission.cc", "core/train/profile_sink.cc", "core/train/resumed_weights.cc",
      "core/train/weight_edits.cc",
      // In a folder that is new: an export's, a plugin's.
      "core/run/export.cc", "core/run/export_config.cc", "core/run/export_model.cc",
      "core/weights/peft_weights_writer.cc", "core/weights/pretrained_writer.cc", "tools/medley/new.cc",
      // What can be made again, and what was confirmed.
      "core/data/record_index.cc", "core/plugin/confirmed_lines.cc", "core/runs/runs_below.cc",
      // A directory of the process; /dev/null; and what torchrun names in the environment.
      "tools/medley/scratch.cc", "tools/medley/task_inputs.cc", "tools/medley/join.cc",
      "tools/medley/process.cc", "tools/medley/sweep_jobs.cc",
      // Data for the tests of a plugin with a project of its own.
      "plugins/signs/pose/clip_csv.cc", "plugins/volumes/data/conversation_file.cc"};
  std::set<std::string> writing;
  for (const char* folder : {"core", "tasks", "plugins", "tools/medley"}) {
    Files files = ReadTree(folder);
    std::erase_if(files, [](const auto& file) { return file.first.find("/tests/") != std::string::npos; });
    writing.merge(FilesThatWrite(files));
  }
  EXPECT_EQ(writing, may) << "an output of a verb is an OutputOption (tools/medley/output.h)";
}

TEST(Layers, AFileThatOpensOneForWritingIsFound) {
  const Files files = {{"1.cc", "  std::ofstream out(file);\n"},
                       {"2.cc", "  FILE* f = fopen(p, \"wb\");\n"},
                       {"3.cc", "  Descriptor file(path, flags | O_CREAT);\n"},
                       {"4.cc", "  ReplaceFile(page, text);\n"},
                       {"5.cc", "  fs::copy_file(a, b);\n"},
                       {"6.cc", "  if (::rename(a, b) != 0) return;\n"},
                       {"7.cc", "  NewFile file(path);\n"},
                       {"8.cc", "  AppendFile file_;\n"},
                       {"9.cc", "  std::fstream both(path, std::ios::out);\n"},
                       {"none.cc",
                        "#include <fstream>\n  std::ifstream in(file);\n  popen(p, \"r\");\n  // ofstream\n"
                        "  Descriptor file(path, O_RDONLY | O_DIRECTORY);\n  Rename(a, b);\n"}};
  std::set<std::string> found;
  for (int i = 1; i <= 9; ++i) found.insert(std::to_string(i) + ".cc");
  EXPECT_EQ(FilesThatWrite(files), found);
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
