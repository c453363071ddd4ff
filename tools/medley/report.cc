#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/page/run_page.h>
#include <medley/report/screen.h>
#include <medley/runs/group_report.h>
#include <medley/runs/groups.h>
#include <medley/runs/groups_page.h>
#include <medley/runs/runs_below.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/report_words.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Signals that somebody wants an end with, which wait from now on until they are asked for.
sigset_t HoldEnds() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

// Until it is over, or somebody wants an end: then the page is written once more, so that it stays as it is.
void FollowRun(const OutputFileOption& page, PageRequest request, const sigset_t& ends) {
  const timespec pause{.tv_sec = request.refresh_seconds, .tv_nsec = 0};
  for (bool is_over = false; !is_over;) {
    if (::sigtimedwait(&ends, nullptr, &pause) > 0) request.refresh_seconds = 0;
    const RunPage now = MakeRunPage(request);
    page.Write(now.text);
    is_over = now.is_over || request.refresh_seconds == 0;
  }
}

void WritePage(const OutputFileOption& page, const PageRequest& request) {
  const bool follows = request.refresh_seconds > 0;
  const sigset_t ends = follows ? HoldEnds() : sigset_t{};
  const RunPage now = MakeRunPage(request);
  std::ostream& said = page.is_stream() ? std::cerr : std::cout;
  for (const std::string& words : now.unlike) said << Prose(words) << '\n';
  page.Write(now.text);
  said << "wrote " << DisplayPath(page.path()) << std::endl;
  if (follows && !now.is_over) FollowRun(page, request, ends);
}

// A sweep alone stands for its groups.
std::vector<RunGroup> GroupsIn(const std::vector<std::filesystem::path>& folders) {
  std::vector<RunGroup> groups;
  if (folders.size() == 1) groups = ReadGroupsOfSweep(folders[0]);
  if (groups.empty())
    for (const std::filesystem::path& folder : folders) groups.push_back(ReadGroup(folder));
  return groups;
}

void PrintGroups(const std::vector<std::filesystem::path>& folders, bool as_json,
                 const OutputFileOption& page) {
  const std::vector<RunGroup> groups = GroupsIn(folders);
  const GroupComparison comparison = CompareGroups(groups);
  if (as_json) {
    std::cout << JsonText(GroupsJson(comparison), 2) << '\n';
    return;
  }
  std::ostream& said = page.is_named() && page.is_stream() ? std::cerr : std::cout;
  said << GroupsWords(comparison);
  if (!page.is_named()) return;
  page.Write(GroupsPage(comparison));
  said << "\nwrote " << DisplayPath(page.path()) << std::endl;
}

}  // namespace

int RunReport(int argc, char** argv) {
  CLI::App app(
      "Prints how far a run is, its last scores, what its tasks asked for and got, and what they took, "
      "against what was planned; or makes a page of it. Of a folder of runs that differ in their seeds: "
      "means and intervals over the seeds; of a sweep: what differs between its groups.",
      "medley report");
  std::filesystem::path directory;
  OutputFileOption page(OutputKind::kPage);
  std::vector<std::filesystem::path> against;
  int live = 0;
  app.add_option("DIR", directory,
                 "the run's directory, a folder of runs that differ in their seeds, or a sweep's")
      ->required();
  auto* html =
      page.AddTo(app, "--html",
                 "write a page with curves, memory, scores, what happened and sheets to this file; of "
                 "folders of runs one that compares them");
  app.add_option("--against", against,
                 "others, whose scores are compared; of runs on a page on the same axes; may be repeated");
  app.add_option(
         "--live", live,
         "write the page anew every so many seconds, until the run is over or Ctrl-C; open, it follows")
      ->needs(html)
      ->check(CLI::Range(1, 3600));
  AddWide(app);
  bool as_json = false;
  AddJson(app, as_json)->excludes(html);
  if (!ParseArguments(app, argc, argv)) return 0;
  page.BelongsIn(directory);
  if (page.is_named()) page.Check();
  std::vector<std::filesystem::path> folders = {directory};
  folders.insert(folders.end(), against.begin(), against.end());
  for (const std::filesystem::path& folder : folders) {
    if (const std::string problem = DirectoryProblem(folder); !problem.empty())
      throw InputError(problem + "; a run directory is expected");
  }
  const bool are_runs = std::ranges::all_of(folders, IsRun);
  if (are_runs && page.is_named()) {
    WritePage(page, {.runs = folders, .refresh_seconds = live});
  } else if (!are_runs && live > 0) {
    throw InputError("--live follows a run: of a folder of runs a page is written once");
  } else if (!are_runs || !against.empty()) {
    PrintGroups(folders, as_json, page);
  } else {
    const ReportOfRun report(directory);
    std::cout << (as_json ? JsonText(report.Json(), 2) + "\n" : report.Words());
  }
  return 0;
}

}  // namespace medley
