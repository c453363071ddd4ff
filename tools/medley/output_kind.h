#pragma once

#include <filesystem>
#include <string>

namespace medley {

// What verbs write into files that their user names.
enum class OutputKind {
  kPage,        // of report
  kSheet,       // of sample and eval
  kPicture,     // of generate and sample
  kReplies,     // of generate
  kAnswers,     // of eval, beside a sheet
  kScores,      // of eval
  kLock,        // of plugins
  kProfile,     // of plan, as its others
  kPlan,        // as JSON
  kPlanTables,  // for people
  kVocabulary,  // of tokenizer train
};

// "a page of medley report"
std::string NameOf(OutputKind kind);
// ".html": how a file of it is called, whatever stands before.
std::string EndingOf(OutputKind kind);
// Whether a file of this name would be taken for one of another kind: d.jpg for a picture, which is a PNG.
bool IsNamedAsAnother(OutputKind kind, const std::filesystem::path& file);
// Whether medley wrote these bytes as that, this one or any before: by what such a file always had. Never a
// vocabulary, which runs may need whoever made it.
bool IsOfKind(OutputKind kind, const std::string& bytes);

}  // namespace medley
