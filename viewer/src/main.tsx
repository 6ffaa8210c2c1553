// Opens the atlas that stands in the page and draws it; a file that cannot be read gives a sentence instead.
import { render } from "preact";
import { App } from "./app";
import { columns_for } from "./columns";
import { atlas, axis, columns, follow_choices, phase } from "./page";
import { AtlasFault, open_atlas, parse_atlas } from "./read";
import { follow_fragment } from "./state";
import "./style.css";

async function start(page: HTMLElement): Promise<void> {
  follow_fragment();
  atlas.value = await open_atlas(parse_atlas(document.getElementById("atlas-data")?.textContent ?? ""));
  columns.value = await columns_for(atlas.value, phase.value, axis.value);
  follow_choices();
  const name = atlas.value.file.source.model.name;
  if (name) document.title = `${name} – Expert Atlas`;
  page.textContent = "";
  render(<App />, page);
  performance.mark("atlas-drawn");
}

function refuse(page: HTMLElement, error: unknown): void {
  const said = error instanceof AtlasFault ? error.message : `The atlas cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  const text = document.createElement("p");
  text.className = "opening";
  text.setAttribute("role", "alert");
  text.textContent = said;
  page.replaceChildren(text);
}

const page = document.getElementById("page")!;
start(page).catch((error: unknown) => refuse(page, error));
