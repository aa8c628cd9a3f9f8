//! Tests of the layout. Each case builds below a frame `F` of 200 x 100 pixels.

use super::check;

/// Runs Luau with `make(class, properties, parent)`, and `at(object, x, y, w, h)` to check a box.
#[track_caller]
fn layout(luau: &str) {
    let head = "local info = DockWidgetPluginGuiInfo.new(Enum.InitialDockState.Float, true)
        local W = plugin:CreateDockWidgetPluginGuiAsync('w', info)
        local function make(class, properties, parent)
            local it = Instance.new(class)
            for name, value in properties do it[name] = value end
            it.Parent = parent
            return it
        end
        local function at(it, x, y, w, h)
            local p, s = it.AbsolutePosition, it.AbsoluteSize
            local got = string.format('%g %g %g %g', p.X, p.Y, s.X, s.Y)
            local want = string.format('%g %g %g %g', x, y, w, h)
            if got ~= want then error(got .. ' instead of ' .. want, 2) end
        end
        local function px(w, h) return UDim2.fromOffset(w, h) end
        local F = make('Frame', {Size = px(200, 100), BorderSizePixel = 0}, W)
        local function box(w, h, more)
            local it = make('Frame', {Size = px(w, h)}, F)
            for name, value in more or {} do it[name] = value end
            return it
        end";
    check(&format!("{}\n{luau}", head.replace('\n', " ")));
}

#[test]
fn sizes_positions_and_anchors_are_resolved() {
    layout(
        "at(make('Frame', {Size = UDim2.fromScale(1, 1)}, W), 0, 0, 360, 600)
        assert(W.AbsoluteSize == Vector2.new(360, 600))
        local a = box(0, 0, {Size = UDim2.new(0.5, -10, 1, 0), Position = UDim2.new(0.5, 0, 0.5, 0), AnchorPoint = Vector2.new(0.5, 0.5)})
        at(a, 55, 0, 90, 100)
        a.Size = px(10, 10) at(a, 95, 45, 10, 10)
        make('UIPadding', {PaddingLeft = UDim.new(0, 20), PaddingTop = UDim.new(0.1, 0)}, F)
        at(a, 105, 50, 10, 10)
        at(box(1, 1, {Size = UDim2.fromScale(1, 1)}), 20, 10, 180, 90)
        make('UISizeConstraint', {MinSize = Vector2.new(30, 0)}, a) assert(a.AbsoluteSize.X == 30)
        local b = box(100, 100) make('UIAspectRatioConstraint', {AspectRatio = 2}, b)
        assert(b.AbsoluteSize == Vector2.new(100, 50))
        assert(Instance.new('Frame').AbsoluteSize == Vector2.zero)",
    );
}

#[test]
fn list_layouts_place_their_children() {
    layout(
        "local l = make('UIListLayout', {Padding = UDim.new(0, 5), SortOrder = 'LayoutOrder'}, F)
        local a, b, c = box(50, 10, {LayoutOrder = 2}), box(30, 20, {LayoutOrder = 1}), box(9, 9, {Visible = false})
        at(b, 0, 0, 30, 20) at(a, 0, 25, 50, 10)
        assert(l.AbsoluteContentSize == Vector2.new(50, 35))
        l.HorizontalAlignment = 'Center' l.VerticalAlignment = 'Bottom'
        at(b, 85, 65, 30, 20) at(a, 75, 90, 50, 10)
        l.FillDirection = 'Horizontal' l.HorizontalAlignment = 'Right' l.VerticalAlignment = 'Top'
        at(b, 115, 0, 30, 20) at(a, 150, 0, 50, 10)
        l.HorizontalAlignment = 'Left' l.HorizontalFlex = 'SpaceBetween'
        at(b, 0, 0, 30, 20) at(a, 150, 0, 50, 10)
        l.HorizontalFlex = 'Fill' at(b, 0, 0, 87.5, 20) at(a, 92.5, 0, 107.5, 10)",
    );
    layout(
        "local l = make('UIListLayout', {FillDirection = 'Horizontal', Wraps = true, SortOrder = 'LayoutOrder', Padding = UDim.new(0, 10)}, F)
        local a, b, c = box(90, 10), box(90, 20), box(90, 30)
        at(a, 0, 0, 90, 10) at(b, 100, 0, 90, 20) at(c, 0, 30, 90, 30)",
    );
    layout(
        "make('UIListLayout', {FillDirection = 'Horizontal', SortOrder = 'LayoutOrder'}, F)
        local a, b = box(50, 10), box(20, 10)
        make('UIFlexItem', {FlexMode = 'Fill'}, b)
        at(b, 50, 0, 150, 10)
        b.Size = px(400, 10) at(b, 50, 0, 150, 10)",
    );
}

#[test]
fn grid_layouts_place_children_in_cells() {
    layout(
        "make('UIGridLayout', {CellSize = px(60, 20), CellPadding = px(10, 5), SortOrder = 'LayoutOrder'}, F)
        local a, b, c, d = box(1, 1), box(1, 1), box(1, 1), box(1, 1)
        at(a, 0, 0, 60, 20) at(b, 70, 0, 60, 20) at(c, 140, 0, 60, 20) at(d, 0, 25, 60, 20)",
    );
}

#[test]
fn automatic_sizes_fit_their_content() {
    layout(
        "local a = box(0, 0, {AutomaticSize = 'XY'})
        make('Frame', {Size = px(30, 40), Position = px(5, 5)}, a)
        make('UIPadding', {PaddingRight = UDim.new(0, 7), PaddingBottom = UDim.new(0, 3)}, a)
        at(a, 0, 0, 42, 48)
        make('UIListLayout', {Padding = UDim.new(0, 2)}, a) make('Frame', {Size = px(10, 10)}, a)
        at(a, 0, 0, 37, 55)
        local t = make('TextLabel', {Size = UDim2.new(1, 0, 0, 0), AutomaticSize = 'Y', TextWrapped = true, TextSize = 20,
            Font = 'SourceSans', Text = string.rep('word ', 20)}, F)
        assert(t.AbsoluteSize.X == 200 and t.AbsoluteSize.Y >= 60 and t.AbsoluteSize.Y % 20 == 0, tostring(t.AbsoluteSize))
        assert(t.TextBounds.Y == t.AbsoluteSize.Y and t.TextBounds.X <= 200)
        local one = make('TextLabel', {AutomaticSize = 'XY', TextSize = 20, Font = 'SourceSans', Text = 'a'}, F)
        local two = make('TextLabel', {AutomaticSize = 'XY', TextSize = 20, Font = 'SourceSans', Text = 'aa'}, F)
        assert(two.AbsoluteSize.X > one.AbsoluteSize.X and one.AbsoluteSize.Y == 20)
        one.RichText = true one.Text = '<b>a</b>' assert(one.ContentText == 'a' and one.AbsoluteSize.X < two.AbsoluteSize.X)
        local T = game:GetService('TextService')
        local size = T:GetTextSize('aa', 20, Enum.Font.SourceSans, Vector2.new(1000, 1000))
        assert(size == two.AbsoluteSize)
        local p = Instance.new('GetTextBoundsParams') p.Text = 'aa' p.Size = 20
        assert(T:GetTextBoundsAsync(p) == size)",
    );
}

#[test]
fn scrolling_frames_offset_and_clamp_their_canvas() {
    layout(
        "local s = make('ScrollingFrame', {Size = px(100, 50), CanvasSize = px(0, 0), AutomaticCanvasSize = 'Y'}, F)
        make('UIListLayout', {SortOrder = 'LayoutOrder'}, s)
        local rows = {}
        for i = 1, 10 do rows[i] = make('Frame', {Size = UDim2.new(1, 0, 0, 20), LayoutOrder = i}, s) end
        assert(s.AbsoluteCanvasSize == Vector2.new(100, 200) and s.AbsoluteWindowSize == Vector2.new(100, 50))
        at(rows[3], 0, 40, 100, 20)
        s.CanvasPosition = Vector2.new(0, 1000)
        at(rows[10], 0, 30, 100, 20)",
    );
}

#[test]
fn layout_change_fires_one_signal() {
    layout(
        "local count = 0
        F:GetPropertyChangedSignal('AbsoluteSize'):Connect(function() count += 1 end)
        task.wait() task.wait() local before = count
        F.Size = px(10, 10) task.wait() task.wait() task.wait()
        assert(count == before + 1, count - before)",
    );
}
