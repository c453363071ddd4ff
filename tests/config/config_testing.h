#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <medley/base/error.h>

#include "tests/words.h"

namespace medley::testing {

using test::Has;

// A directory of the test's own, gone with it, with the files that a run config names.
class Workspace {
 public:
  Workspace() {
    std::string pattern = std::filesystem::temp_directory_path() / "medley_config_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
    Write("model.json", kModel);
    Write("small.model", kVocabulary);
    Write("control.txt", "a line\n");
    Write("weights.json", R"({"weights": {"alpha": 1, "beta": 2}})");
  }
  ~Workspace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path Write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::remove(path_ / name);  // file systems flush a file that is cut and written again
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  // A run config with every required key on lines 2 to 5, and then `more`.
  std::filesystem::path WriteRun(const std::string& more = "") const {
    return Write("run.json",
                 "{\n  \"model\": \"model.json\",\n  \"tokenizer\": \"small.model\",\n"
                 "  \"weights\": \"weights.json\",\n  \"control_text\": \"control.txt\"" +
                     (more.empty() ? "" : ",\n" + more) + "\n}\n");
  }

  static constexpr const char* kVocabulary = "\n\x07\n\x05<pad>";  // a SentencePiece model of one piece
  static constexpr const char* kModel =
      R"({"kind": "agent", "language": {}, "image": {}, "encoder": {}, "decoder": {}})";

 private:
  std::filesystem::path path_;
};

// The message of the InputError that fn throws, "" if it throws none.
inline std::string MistakesOf(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline std::size_t Lines(const std::string& text) {
  std::size_t lines = text.empty() ? 0 : 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

}  // namespace medley::testing
