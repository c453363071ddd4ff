#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/json_item.h>

#include "data/conversation.h"
#include "data/scan_file.h"

namespace medley_volumes {

// How conversations of files are taken.
struct ReadingForm {
  ScanForm scans{};
  // Where the answer stands whose text is empty, in the conversation: "metadata.subject_label". "": nowhere.
  std::string answer{};
  // Lines are questions: a user's turn is the last, and an answer behind it is left out.
  bool are_questions = false;
};

// Scans that cannot be taken as conversations name them. The words are of the first ten.
class WrongScans final : public medley::InputError {
 public:
  struct One {
    std::filesystem::path file;
    std::string words;  // "FILE:LINE: turns[1].content[0].image: ..."
  };
  explicit WrongScans(std::vector<One> all);  // not empty
  ~WrongScans() override;

  const std::vector<One>& all() const { return all_; }

 private:
  std::vector<One> all_;
};

// clang-format off
// A conversation in any of the spellings that are about: medley's own, UMBRELLA's and LLaVA's (ShareGPT's).
//   turns    "turns", "conversations" or "messages": [{role, content} ..]
//   role     "role" or "from": "user" or "human", "assistant" or "gpt"; "system", said in front of the next user's
//   content  "content" or "value": a text, or [{"text": ..} or {"image": FILE, ..} ..]
//   scans    items of a user's content; or beside the turns as "image" or "images", a path, {"path": ..} or a list of either: each
//            literal <image> of the texts is the next of these, and without any they all stand in front of the first user's words
//   FILE     "image", "image_path" or "path"; "modality": "volume" (sMRI, dMRI), "series" (fMRI); of a NIfTI file the header says it
//            where it is missing
//   subject  "subject", "subject_id", "subject_ids" or metadata.subject_id; else its scans; else "id"; else all that it says
// InputErrors "FILE:LINE: turns[1].content[0]: ...", for a conversation that does not end with an assistant's turn and for too many
// scans, too; of all its scans that are wrong one WrongScans.
// clang-format on
Conversation ConversationOf(const medley::JsonItem& line, const std::filesystem::path& folder,
                            const ReadingForm& form);

}  // namespace medley_volumes
