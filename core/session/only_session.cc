#include <medley/session/only_session.h>

#include <mutex>
#include <optional>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

std::mutex g_session_mutex;
std::optional<std::filesystem::path> g_open_run;

}  // namespace

OnlySession::OnlySession(const std::filesystem::path& run) {
  const std::scoped_lock lock(g_session_mutex);
  if (g_open_run)
    throw InputError("this process has a session open already, of " + Printable(*g_open_run) + ", so " +
                     Printable(run) +
                     " cannot have another: budget, memory peaks and interrupts are the process's. End "
                     "that session first, or train this run in a process of its own");
  g_open_run = run;
}

OnlySession::~OnlySession() {
  const std::scoped_lock lock(g_session_mutex);
  g_open_run.reset();
}

}  // namespace medley
