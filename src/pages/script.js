// Copy buttons. Every page is complete without this file: the buttons are hidden until it runs.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) break; // It exists over https and on localhost only.
  const label = button.textContent;
  button.hidden = false;
  button.ariaLive = "polite";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// On a site of files: the shard that an identifier or a digest begins with says where its set is.
const root = new URL(".", document.currentScript.src);
const shard = async (digits) => {
  const answer = await fetch(new URL(`di/${digits.slice(0, 2)}.json`, root));
  return answer.ok ? answer.json() : {};
};
const place = async (text) => {
  const digits = /(?:DI:|sha256:|^)([0-9a-f]{64}|[0-9a-f]{32})(?![0-9a-f])/i.exec(text)?.[1].toLowerCase();
  if (!digits) return null;
  const identifier = digits.length === 64 ? (await shard(digits)).digests?.[digits] : digits;
  const [set] = (identifier && (await shard(identifier)).sets?.[identifier]) || [];
  return set && new URL(`datasets/${set.dataset}/history/${set.from.slice(0, 7)}.html#${identifier}`, root);
};
for (const form of document.querySelectorAll("form[data-resolve]")) {
  const [field, said] = [form.querySelector("input"), form.querySelector("[role=status]")];
  const lead = async (text) => {
    const found = await place(text);
    if (found) location.replace(found);
    return found;
  };
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await lead(field.value.trim())) said.textContent = "No set of this site has that identifier.";
  });
  lead(decodeURIComponent(location.pathname));
}
