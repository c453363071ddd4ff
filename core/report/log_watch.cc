#include <medley/report/log_watch.h>

#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

std::string RoomLeft(const std::filesystem::path& log) {
  try {
    return " (the disk has " + std::to_string(FreeBytes(log.parent_path())) + " left)";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

void LogWatch::Look(const AppendFile& log) {
  const bool waits = log.error() != 0;
  if (waits && !waiting_) {
    console_.Warn("cannot write " + Printable(log.path()) + ": " +
                  std::generic_category().message(log.error()) + "; " + std::to_string(log.waiting()) +
                  " bytes wait in memory" + RoomLeft(log.path()) + ". Every step tries again; until then " +
                  costs_);
  }
  if (!waits && waiting_)
    console_.Say(Printable(log.path()) + " is written again, and nothing of it is lost");
  waiting_ = waits;
}

void LogWatch::Failed(const std::string& reason) {
  if (!failed_) console_.Warn(reason + "; the run goes on, but " + costs_);
  failed_ = true;
}

}  // namespace medley
