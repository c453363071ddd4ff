#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/data/json_item.h>
#include <medley/model/model.h>

namespace medley {

// What a task says to a question that is none of its rows.
enum class AnswerKind { kNone, kWords, kClass };

// How a task is asked. Its questions are lines of its own files without the answer; where somebody asks by
// hand, they are these:
//   {"messages": [{"role": "user", "content": "<image>what is it?"}], "images": [FILE]}   where it talks
//   {"file": FILE, "row": 3}     where it does not: "row", of a file of many, from 0, may be missing
struct AskForm {
  AnswerKind kind = AnswerKind::kNone;
  bool talks = false;   // in conversations, with a system
  std::string files{};  // what is shown with a question, for people: "scans, .nii or .nii.gz"; "": nothing is
};

struct Questions {
  std::vector<JsonItem> lines;
  std::filesystem::path folder{};  // of the paths in them
};

// What a model is handed with questions, and what becomes of what it gives.
struct Asked {
  // On the CPU, rows in the questions' order: Generate's, or where there are classes, Forward's.
  ModelInputs inputs;
  // Of words: the most tokens of each row's reply, by what a row of the task has; empty: nobody says.
  std::vector<std::int64_t> room{};
  std::vector<std::int64_t> ends{};    // of words: tokens that end a reply, beside <eos>
  std::string output{};                // of classes: the model's, [rows, classes]
  std::vector<std::string> classes{};  // by label
};

}  // namespace medley
