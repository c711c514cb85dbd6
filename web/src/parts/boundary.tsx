/** One broken record never blanks a view. */
import { Component, type ReactNode } from "react";
import i18n from "i18next";
import { Failure } from "./basics";

export class Boundary extends Component<{ children: ReactNode; of?: string }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: Readonly<{ of?: string }>) {
    if (before.of !== this.props.of && this.state.error) this.setState({ error: null });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="p-4">
        <Failure error={this.state.error} onRetry={() => this.setState({ error: null })} />
        <p className="mt-2 text-small text-ink3">{i18n.t("state.broken")}</p>
      </div>
    );
  }
}
