#include "record_scanner.h"

#include <algorithm>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/work_progress.h>
#include <medley/data/bad_records.h>
#include <medley/data/item_hash.h>

#include "element_cutter.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Puts the records of a file together that lie in several pieces, hashes each and asks the check about it.
class RecordChecker {
 public:
  RecordChecker(std::string file, RecordIndex::Format format, const RecordCheck& check)
      : file_(std::move(file)), format_(format), check_(check) {}

  // The next bytes of the record that is under way, or of a line that is blank so far.
  void Keep(std::string_view part) {
    is_long_ = is_long_ || std::ssize(kept_) + std::ssize(part) > kMostRecordBytes;
    if (!is_long_) kept_.append(part);
  }
  // The line was blank.
  void Forget() {
    kept_.clear();
    is_long_ = false;
  }
  // The record ends behind these bytes. `from_start`: it begins with the file.
  void End(std::string_view part, std::int64_t line, bool from_start) {
    const bool is_whole = kept_.empty() && !is_long_;
    if (!is_whole) Keep(part);
    const std::string_view text = RecordText(is_whole ? part : kept_, format_, from_start);
    hashes_.push_back(HashItem(text));  // of one that is too long, its first bytes
    if (check_.problem) Check(text, line);
    Forget();
  }
  // What no record can be said to have.
  void Refuse(const std::string& what, std::int64_t line) {
    if (check_.problem) problems_.Add(file_ + ":" + std::to_string(line) + ": " + what);
  }
  const RecordProblems& problems() const { return problems_; }
  std::vector<std::uint64_t> TakeHashes() { return std::move(hashes_); }

 private:
  void Check(std::string_view text, std::int64_t line) {
    std::string problem =
        is_long_ ? file_ + ":" + std::to_string(line) + ": longer than " + FormatBytes(kMostRecordBytes) +
                       (format_ == RecordIndex::Format::kCsv ? "; is a quote not closed?" : "")
                 : check_.problem(text, line);
    if (!problem.empty()) problems_.Add(std::move(problem));
  }

  std::string file_;
  RecordIndex::Format format_;
  const RecordCheck& check_;
  bool is_long_ = false;
  std::string kept_;
  std::vector<std::uint64_t> hashes_;
  RecordProblems problems_;
};

// Finds where records begin, in pieces of any size.
class Scanner {
 public:
  Scanner(RecordIndex::Format format, RecordChecker& checker)
      : quotes_(format == RecordIndex::Format::kCsv), checker_(checker) {}

  void Add(std::string_view piece) {
    for (std::size_t at = 0; at < piece.size();) {
      if (blank_ && !in_quotes_)
        at = SkipBlanks(piece, at);
      else
        at = SkipRecord(piece, at);
    }
    checker_.Keep(OfLine(piece, piece.size()));
    offset_ += piece.size();
  }
  std::vector<std::uint64_t> Finish() {
    if (!blank_) EndRecord("");
    begins_.push_back(offset_);
    return std::move(begins_);
  }

 private:
  // What the piece has of the present line, or of the lines of the present record, before `end`.
  std::string_view OfLine(std::string_view piece, std::size_t end) const {
    const std::size_t begin = line_begin_ > offset_ ? static_cast<std::size_t>(line_begin_ - offset_) : 0;
    return piece.substr(begin, end - begin);
  }
  void EndRecord(std::string_view rest) { checker_.End(rest, record_line_, begins_.back() == 0); }
  // Up to a record's first byte.
  std::size_t SkipBlanks(std::string_view piece, std::size_t at) {
    while (at < piece.size() && std::string_view(" \t\r\n").find(piece[at]) != std::string_view::npos) {
      if (piece[at] == '\n') {
        line_begin_ = offset_ + at + 1;
        ++line_;
        checker_.Forget();
      }
      ++at;
    }
    if (at == piece.size()) return at;
    begins_.push_back(line_begin_);
    record_line_ = line_;
    blank_ = false;
    return at;
  }
  // Behind the end of its line.
  std::size_t SkipRecord(std::string_view piece, std::size_t at) {
    while (at < piece.size()) {
      const std::size_t end = quotes_ ? piece.find_first_of("\"\n", at) : piece.find('\n', at);
      if (end == std::string_view::npos) return piece.size();
      at = end + 1;
      if (piece[end] == '"') {
        in_quotes_ = !in_quotes_;
        continue;
      }
      ++line_;
      if (in_quotes_) continue;
      EndRecord(OfLine(piece, end));
      blank_ = true;
      line_begin_ = offset_ + at;
      return at;
    }
    return at;
  }

  bool quotes_, in_quotes_ = false, blank_ = true;
  RecordChecker& checker_;
  std::uint64_t offset_ = 0, line_begin_ = 0;
  std::int64_t line_ = 1, record_line_ = 1;
  std::vector<std::uint64_t> begins_;
};

// The same of a JSON list's elements.
class ElementScanner {
 public:
  explicit ElementScanner(RecordChecker& checker) : checker_(checker) {}

  void Add(std::string_view piece) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < piece.size() && !is_wrong_; ++at) {
      const ElementCutter::Found found = cutter_.Add(piece[at]);
      if (found == ElementCutter::Found::kBegin) {
        begins_.push_back(offset_ + (begin = at));
        record_line_ = line_;
        is_inside_ = true;
      } else if (found == ElementCutter::Found::kEnd) {
        checker_.End(piece.substr(begin, at - begin), record_line_, false);
        is_inside_ = false;
      } else if (found == ElementCutter::Found::kMistake) {
        Refuse(std::string("no element of a JSON list can stand here, found '") + piece[at] + "'");
      }
      if (piece[at] == '\n') ++line_;
    }
    if (is_inside_) checker_.Keep(piece.substr(begin));
    offset_ += piece.size();
  }
  std::vector<std::uint64_t> Finish() {
    if (const std::string missing = cutter_.Missing(); !missing.empty() && !is_wrong_) Refuse(missing);
    if (is_inside_ && !is_wrong_) checker_.End("", record_line_, false);
    begins_.push_back(offset_);
    return std::move(begins_);
  }

 private:
  void Refuse(const std::string& what) {
    checker_.Refuse(what, line_);
    is_wrong_ = true;
  }

  RecordChecker& checker_;
  ElementCutter cutter_;
  bool is_inside_ = false, is_wrong_ = false;
  std::uint64_t offset_ = 0;
  std::int64_t line_ = 1, record_line_ = 1;
  std::vector<std::uint64_t> begins_;
};

// Reads the file through.
template <typename AnyScanner>
FoundRecords Scanned(AnyScanner scanner, RecordChecker& checker, const InputFile& file,
                     const fs::path& path) {
  WorkProgress progress;
  const std::string words = "reading " + DisplayPath(path);
  // One byte more than a small file has: so much is not read, and that is its end.
  const std::int64_t bytes = std::clamp<std::int64_t>(file.size() + 1, 1 << 16, kScanPiece);
  std::string piece(static_cast<std::size_t>(bytes), '\0');
  for (std::int64_t offset = 0;;) {
    HeedInterrupt();
    const std::size_t got = file.Read(offset, piece.data(), piece.size());
    scanner.Add(std::string_view(piece).substr(0, got));
    offset += static_cast<std::int64_t>(got);
    if (got < piece.size()) break;
    progress.Say(words, static_cast<double>(offset), static_cast<double>(file.size()));
  }
  FoundRecords found{.begins = scanner.Finish(), .hashes = {}};
  checker.problems().Throw();
  found.hashes = checker.TakeHashes();
  return found;
}

}  // namespace

FoundRecords FindRecords(const InputFile& file, const fs::path& path, RecordIndex::Format format,
                         const RecordCheck& check) {
  RecordChecker checker(DisplayPath(path), format, check);
  if (format == RecordIndex::Format::kElements) return Scanned(ElementScanner(checker), checker, file, path);
  return Scanned(Scanner(format, checker), checker, file, path);
}

std::string_view RecordText(std::string_view text, RecordIndex::Format format, bool from_start) {
  if (format == RecordIndex::Format::kElements) return FirstElement(text);
  std::size_t end = 0;
  if (format == RecordIndex::Format::kLines) {
    end = std::min(text.find('\n'), text.size());
  } else {
    for (bool in_quotes = false; end < text.size() && (text[end] != '\n' || in_quotes); ++end) {
      if (text[end] == '"') in_quotes = !in_quotes;
    }
  }
  text = text.substr(0, end > 0 && text[end - 1] == '\r' ? end - 1 : end);
  if (from_start && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace medley
