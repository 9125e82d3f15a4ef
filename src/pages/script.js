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
