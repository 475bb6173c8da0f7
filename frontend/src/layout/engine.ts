/**
 * The layout on the page: two canvases of fixed size (scene below, outlines above), one animation frame loop that draws only what
 * is dirty. The component (layout-view.tsx) passes events in and gets told what is hovered, chosen and seen.
 */
import { buildIndex, type GridIndex } from "../geometry/grid-index";
import { centreOf, type Scene, sizeOf } from "../geometry/scene";
import { px, type ScreenPoint, um } from "../geometry/units";
import {
  centreOn,
  type Extent,
  fitView,
  keepInSight,
  panBy,
  type Size,
  toChip,
  type View,
  zoomAt,
} from "../geometry/view";
import { THEME_CHANGED } from "../ui/theme-switch";
import { Backdrop } from "./backdrop";
import { drawOverlay, drawScene, isShown, type Shown } from "./draw";
import { blend } from "./glide";
import { type LayoutTheme, readTheme } from "./theme";

export interface EngineEvents {
  onHover(node: number): void;
  onSelect(node: number): void;
  onView(view: View, fitted: View): void;
}

/** Device pixels a CSS pixel at most: beyond 2 nobody sees more, and the canvas grows with its square. */
const MAX_RATIO = 2;
/** Pointer reach in CSS pixels: ports are points, and small macros must be hit too. */
const REACH = px(7);
const GLIDE_MS = 420;

export class LayoutEngine {
  private readonly still: CanvasRenderingContext2D;
  private readonly live: CanvasRenderingContext2D;
  private theme: LayoutTheme;
  private scene: Scene;
  private index: GridIndex;
  private glide: { from: Scene; startedAt: number } | null = null;
  private size: Size = { width: px(0), height: px(0) };
  private fitted: View = { scale: 1, left: um(0), top: um(0) };
  private view = this.fitted;
  private hovered = -1;
  private selected = -1;
  private dirty = { still: true, live: true };
  private ratio = 1;
  private zooming = false;
  private readonly backdrop = new Backdrop();
  private frame = 0;
  private readonly observer: ResizeObserver;
  private readonly darkness = matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private readonly host: HTMLElement,
    stillCanvas: HTMLCanvasElement,
    liveCanvas: HTMLCanvasElement,
    scene: Scene,
    private shown: Shown,
    private readonly events: EngineEvents,
  ) {
    // Opaque below: the browser need not blend it with the page.
    this.still = stillCanvas.getContext("2d", { alpha: false })!;
    this.live = liveCanvas.getContext("2d")!;
    this.scene = scene;
    this.index = buildIndex(scene);
    this.theme = readTheme(host);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(host);
    this.darkness.addEventListener("change", this.retheme);
    window.addEventListener(THEME_CHANGED, this.retheme);
    this.resize();
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.darkness.removeEventListener("change", this.retheme);
    window.removeEventListener(THEME_CHANGED, this.retheme);
  }

  readonly retheme = (): void => {
    this.theme = readTheme(this.host);
    this.backdrop.invalidate();
    this.touch("still", "live");
  };

  /** Shows another placement. Of the same nodes: they glide to their new places, and what is seen stays. */
  setScene(scene: Scene): void {
    if (scene === this.scene) return;
    const same = scene.count === this.scene.count && scene.canvas.width_um === this.scene.canvas.width_um;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.glide = same && !calm ? { from: this.current(performance.now()), startedAt: performance.now() } : null;
    this.scene = scene;
    this.index = buildIndex(scene);
    if (!same) {
      this.hovered = -1;
      this.select(-1);
      this.resize();
    }
    this.backdrop.invalidate();
    this.touch("still", "live");
  }

  setShown(shown: Shown): void {
    this.shown = shown;
    this.backdrop.invalidate();
    this.touch("still");
  }

  pan(dx: number, dy: number): void {
    this.move(panBy(this.view, px(dx), px(dy)));
  }

  zoom(factor: number, at: ScreenPoint = { x: px(this.size.width / 2), y: px(this.size.height / 2) }): void {
    this.move(zoomAt(this.view, factor, at, this.fitted));
  }

  fit(): void {
    this.move(this.fitted);
  }

  hover(at: ScreenPoint | null): void {
    const node = at ? this.nodeAt(at) : -1;
    if (node === this.hovered) return;
    this.hovered = node;
    this.events.onHover(node);
    this.touch("live");
  }

  selectAt(at: ScreenPoint): void {
    this.select(this.nodeAt(at));
  }

  select(node: number): void {
    if (node === this.selected) return;
    this.selected = node;
    this.events.onSelect(node);
    this.touch("live");
  }

  /** Chooses a node and brings it into the middle, large enough to be seen. */
  reveal(node: number): void {
    this.select(node);
    if (node < 0) return;
    const { width, height } = sizeOf(this.scene, node);
    const side = um(Math.max(width, height, this.scene.canvas.width_um / 400));
    this.move(centreOn(this.view, centreOf(this.scene, node), this.size, side, px(48)));
  }

  get viewSize(): Size {
    return this.size;
  }

  private nodeAt(at: ScreenPoint): number {
    return this.index.hit(toChip(this.view, at), REACH / this.view.scale, isShown(this.shown));
  }

  private move(view: View): void {
    this.zooming = view.scale !== this.view.scale;
    this.view = keepInSight(view, this.extent(), this.size);
    this.events.onView(this.view, this.fitted);
    this.touch("still", "live");
  }

  private extent(): Extent {
    return { width: um(this.scene.canvas.width_um), height: um(this.scene.canvas.height_um) };
  }

  private resize(): void {
    const { width, height } = this.host.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    const wasFitted = this.size.width === 0 || this.view === this.fitted;
    const before = this.size;
    this.size = { width: px(width), height: px(height) };
    const ratio = Math.min(MAX_RATIO, devicePixelRatio || 1);
    this.ratio = ratio;
    this.backdrop.invalidate();
    for (const context of [this.still, this.live]) {
      context.canvas.width = Math.round(width * ratio);
      context.canvas.height = Math.round(height * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.fitted = keepInSight(fitView(this.extent(), this.size), this.extent(), this.size);
    if (wasFitted) this.view = this.fitted;
    else this.view = panBy(this.view, px((width - before.width) / 2), px((height - before.height) / 2));
    this.events.onView(this.view, this.fitted);
    // At once, not at the next frame: resizing has just cleared both canvases.
    this.dirty = { still: true, live: true };
    this.draw(performance.now());
  }

  private touch(...layers: ("still" | "live")[]): void {
    for (const layer of layers) this.dirty[layer] = true;
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  private tick(now: number): void {
    this.frame = 0;
    this.draw(now);
    if (this.glide) this.touch("still");
  }

  private draw(now: number): void {
    const scene = this.current(now);
    if (this.dirty.still) this.drawStill(scene);
    if (this.dirty.live || this.glide)
      drawOverlay(this.live, scene, this.view, this.size, this.theme, this.hovered, this.selected);
    this.dirty = { still: false, live: false };
  }

  /** While what is drawn changes with every frame, drawing a margin around it would be wasted. */
  private drawStill(scene: Scene): void {
    if (this.glide || this.zooming) drawScene(this.still, scene, this.view, this.size, this.theme, this.shown);
    else this.backdrop.copy(this.still, scene, this.view, this.size, this.ratio, this.theme, this.shown);
    this.zooming = false;
  }

  /** The scene as it is at this moment: on its way from the last one, or arrived. */
  private current(now: number): Scene {
    if (!this.glide) return this.scene;
    const share = (now - this.glide.startedAt) / GLIDE_MS;
    if (share >= 1) {
      this.glide = null;
      this.dirty = { still: true, live: true };
      return this.scene;
    }
    return blend(this.glide.from, this.scene, Math.max(0, share));
  }
}
