/** Design tokens as colours that a canvas understands. */

/** A function from token name to colour. The probe element makes the browser resolve functions such as light-dark(). */
export function tokenReader(host: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement("span");
    probe.hidden = true;
    probe.style.color = `var(${token})`;
    host.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  };
}
