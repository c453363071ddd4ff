#include <medley/page/run_page.h>

#include <nlohmann/json.hpp>
#include <utility>

#include <medley/page/in_script.h>
#include <medley/page/page_sheets.h>
#include <medley/page/run_data.h>
#include <medley/run/rules_record.h>

namespace medley {
namespace {

constexpr char kPage[] =
#include "page.inc"
    ;

void Put(std::string& page, const std::string& place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

RunPage MakeRunPage(const PageRequest& request) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const std::filesystem::path& run : request.runs) {
    runs.push_back(RunData(run));
    runs.back()["sheets"] = SheetsOf(run, runs.back()["scored"]);
  }
  RunPage page{.text = kPage, .is_over = runs.at(0).at("is_over")};
  for (std::size_t other = 1; other < request.runs.size(); ++other) {
    for (std::string& words : UnlikeRowsWords(request.runs[0], request.runs[other]))
      page.unlike.push_back(std::move(words));
  }
  runs.at(0)["unlike_rows"] = page.unlike;
  Put(page.text, "REFRESH_SECONDS", std::to_string(page.is_over ? 0 : request.refresh_seconds));
  Put(page.text, "[/* runs */]", InScript(runs));
  return page;
}

}  // namespace medley
