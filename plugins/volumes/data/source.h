#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/data/item_stream.h>
#include <medley/task/drivers/row.h>
#include <medley/task/task.h>

#include "data/collate.h"
#include "data/conversation_file.h"
#include "data/scan_cache.h"

namespace medley_volumes {

// What is known of a conversation since its file was opened.
struct Known {
  std::string subject;
  LastWords last;
};

// The conversations of a task's rows.
class ConversationSource {
 public:
  virtual ~ConversationSource() = default;
  // Where the row asks for the longest, one whose scans take the most positions.
  virtual Conversation Draw(medley::Row& row) const = 0;
  virtual const medley::ItemStream* Items() const { return nullptr; }
  // Null: rows are made up.
  virtual const TrainingAnswers* Answers() const { return nullptr; }
  // Of the conversation that Draw gives for the row, which is not read for it; nothing where it is made up.
  virtual Known KnownOf(medley::Row&) const { return {}; }
  virtual std::int64_t CacheBytes() const { return 0; }  // see medley::Task
};

using MakeExample = std::function<Conversation(medley::Row& row)>;

class MadeUpConversations final : public ConversationSource {
 public:
  explicit MadeUpConversations(MakeExample make) : make_(std::move(make)) {}
  Conversation Draw(medley::Row& row) const override { return make_(row); }

 private:
  MakeExample make_;
};

// Of a file. For evaluations are all conversations of another one, `validation`, and each conversation is an
// item; or, where that is "", `held_out` of the subjects, who are the items.
class FileConversations final : public ConversationSource {
 public:
  // `cache`: most bytes of voxels that are kept.
  FileConversations(const std::filesystem::path& file, const medley::HeldOutItems& held_out,
                    const Limits& limits, const ReadingForm& form,
                    const std::filesystem::path& validation = {}, std::int64_t cache = 0);
  // Its scans are read, and their values judged, when the voxels are asked for and the cache has none. The
  // longest one's are read each time: what rows take is measured by it, and is not to hang on what was read
  // before.
  Conversation Draw(medley::Row& row) const override;
  Known KnownOf(medley::Row& row) const override;
  std::int64_t CacheBytes() const override;
  const medley::ItemStream* Items() const override { return &*stream_; }
  const TrainingAnswers* Answers() const override { return &answers_; }
  // Which way the first scan of each kind lies, as its file says.
  std::vector<std::string> Words() const;

 private:
  // Those of `validation` behind those of the file.
  std::int64_t Chosen(medley::Row& row) const;
  Conversation At(std::int64_t conversation) const;
  void Divide(const medley::HeldOutItems& held_out);
  void CountAnswers();
  Conversation WithCache(Conversation conversation) const;

  ConversationFile file_;
  std::optional<ConversationFile> validation_;
  Orientation orientation_;
  mutable ScanCache cache_;
  std::int64_t longest_ = 0;  // the conversation whose scans take the most positions
  std::optional<medley::ItemStream> stream_;
  TrainingAnswers answers_;
};

}  // namespace medley_volumes
