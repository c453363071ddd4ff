#include <medley/base/line_reader.h>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley {

LineReader::LineReader(const std::filesystem::path& path, std::size_t longest) : LineReader(path) {
  longest_ = longest;
  if (!file_.is_plain()) throw InputError(DisplayPath(path) + " is no plain file; move it away");
}

bool LineReader::Next(std::string& line) {
  constexpr std::size_t kPiece = 1 << 16;
  std::size_t end = 0;
  for (std::size_t from = at_; (end = waiting_.find('\n', from)) == std::string::npos;) {
    waiting_.erase(0, at_);
    at_ = 0;
    from = waiting_.size();
    if (from > longest_)
      throw InputError(DisplayPath(path_) + " has a line of more than " +
                       FormatBytes(static_cast<std::int64_t>(longest_)) + ": it is damaged");
    waiting_.resize(from + kPiece);
    const std::size_t got = file_.Read(offset_, waiting_.data() + from, kPiece);
    offset_ += static_cast<std::int64_t>(got);
    waiting_.resize(from + got);
    if (got == 0) break;
  }
  whole_ = end != std::string::npos;
  line = waiting_.substr(at_, whole_ ? end - at_ : end);
  at_ = whole_ ? end + 1 : waiting_.size();
  return whole_ || !line.empty();
}

}  // namespace medley
